"""What this machine is: GPU, interpreter, dynamic loader; probes give values, decide nothing."""

"""Loading simulated: which file answers each library name, in which order, with which symbols."""

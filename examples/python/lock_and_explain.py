"""Lock a stack for one GPU, export it for uv, and say why a newer torch would not do."""

import abilock

with abilock.open_session(offline=True) as session:
    gpu = abilock.find_target(cuda="13.0", arch="sm120", python="3.12", session=session)
    answer = abilock.resolve(["torch", "sgl-kernel"], target=gpu, session=session)
    if answer.lock is None:
        raise SystemExit(str(answer))
    answer.lock.write("pylock.toml")
    print(answer.lock.export("constraints"))
    newer = abilock.why(["torch==2.10.0", "sgl-kernel==0.3.21"], target=gpu, session=session)
    print(newer.verdict, *(f"{reason.code}: {reason.works_with}" for reason in newer.reasons))

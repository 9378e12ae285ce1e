"""``abilock completion``: what makes a shell complete commands, options and versions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.complete import WORD


class Shell(StrEnum):
    """The shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_SCRIPTS = {
    Shell.BASH: """\
# Completion of abilock in bash: eval "$(abilock completion bash)" in ~/.bashrc, or this text as
# ~/.local/share/bash-completion/completions/abilock.
_abilock() {
    local word=${COMP_WORDS[COMP_CWORD]} line path
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files | :directories)
                compopt -o filenames 2>/dev/null
                while IFS= read -r path; do
                    COMPREPLY+=("$path")
                done < <(compgen -"${line:1:1}" -- "$word")
                ;;
            *=) compopt -o nospace 2>/dev/null; COMPREPLY+=("$line") ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <("$1" @COMPLETE@ bash "${COMP_LINE:0:COMP_POINT}" "$word" 2>/dev/null)
}
complete -o nosort -F _abilock abilock 2>/dev/null || complete -F _abilock abilock
""",
    Shell.ZSH: """\
#compdef abilock
# Completion of abilock in zsh: eval "$(abilock completion zsh)" in ~/.zshrc below compinit, or this
# text as _abilock in a directory of $fpath.
_abilock() {
    local line word
    local -a closed open closed_told open_told
    for line in "${(@f)$(${(Q)words[1]} @COMPLETE@ zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        word=${line%%$'\\t'*}
        case $word in
            '') ;;
            :files) _files ;;
            :directories) _files -/ ;;
            *=) open+=("$word"); open_told+=("$word  ${line#*$'\\t'}") ;;
            *) closed+=("$word"); closed_told+=("$word  ${line#*$'\\t'}") ;;
        esac
    done
    (( $#closed )) && compadd -l -V abilock -d closed_told -a closed
    (( $#open )) && compadd -l -S '' -V abilock -d open_told -a open
    return 0
}
(( $+functions[compdef] )) && compdef _abilock abilock
""",
    Shell.FISH: """\
# Completion of abilock in fish: abilock completion fish > ~/.config/fish/completions/abilock.fish
function __abilock_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string unescape)
    for line in ($words[1] @COMPLETE@ fish $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case ':files*'
                __fish_complete_path "$word"
            case ':directories*'
                __fish_complete_directories "$word" ''
            case '*'
                echo $line
        end
    end
end
complete -c abilock -f -k -a '(__abilock_complete)'
""",
}


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the completion script of bash, zsh or fish.

    In ~/.bashrc: eval "$(abilock completion bash)".
    """
    console.data(_SCRIPTS[shell].replace("@COMPLETE@", WORD))

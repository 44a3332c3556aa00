# Completion of tutti for bash. The words are those that the installed program prints.
_tutti() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} text words=() i
  # The words before the cursor that name commands: tutti learn train
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    [[ ${COMP_WORDS[i]} =~ ^[a-z]+$ ]] || break
    words+=("${COMP_WORDS[i]}")
  done
  text=$("$program" "${words[@]}" --help 2>/dev/null) || text=$("$program" "${words[0]}" --help 2>/dev/null)
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -- '--[a-z0-9_-]+' <<<"$text" | sort -u)" -- "$word")
  elif [[ $text == usage:* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -nE 's/^  ([a-z]+)  .*/\1/p' <<<"$text")" -- "$word")
  elif [[ ${words[*]} == train && $COMP_CWORD == 2 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -nE '/^Cases:/,$s/^  ([a-z0-9-]+) .*/\1/p' <<<"$text")" -f -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _tutti tutti

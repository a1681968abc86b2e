import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '../../client/client.ts'
import { readUserConfig } from '../../config.ts'
import { makeFolder } from '../../make-folder.ts'
import { UsageError } from '../command.ts'
import { isPlainLine } from '../printable.ts'
import { serviceCommands } from '../service-commands.ts'
import { type ArgumentKind, type Call, commonOptions, type Options, type UserCommand } from './command.ts'
import { knownJobs } from './jobs/known-jobs.ts'
import { findAccess } from './profile/access.ts'
import { readProfiles } from './profile/profiles.ts'
import { openTerminal } from './terminal.ts'

/**
 * What the words could go on with, a line each. What was typed reaches us as arguments and is never run. A name may be of
 * anybody's making: the scripts quote it for their shell, and one that would steer the terminal is left out.
 */
export async function complete(
  commands: readonly UserCommand[],
  typed: readonly string[],
): Promise<readonly string[]> {
  const words = typed.map((word) => (word.trim() === '' ? '' : word))
  const last = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const candidates = await candidatesFor(commands, before, last)
  return [...new Set(candidates)].filter((candidate) => candidate.startsWith(last) && isPlainLine(candidate))
}

async function candidatesFor(
  commands: readonly UserCommand[],
  before: readonly string[],
  last: string,
): Promise<readonly string[]> {
  const plain = before.filter((word) => !word.startsWith('-'))
  const names = [...commands.map(({ name }) => name), ...Object.keys(serviceCommands)]
  const command = commands.find(({ name }) => name.split(' ').every((word, place) => plain[place] === word))
  if (!command) return nextWords(names, plain)
  const options: Options = { ...command.options, ...commonOptions }
  const wanting = optionOf(options, before.at(-1) ?? '')
  if (wanting?.type === 'string') return valuesOf(wanting.kind ?? 'text')
  if (last.startsWith('-'))
    return Object.keys(options).map((name) => (name.length > 1 ? `--${name}` : `-${name}`))
  if (command.name === 'help') return nextWords([...names, 'formats', 'exit-codes'], plain.slice(1))
  const place = plain.length - command.name.split(' ').length
  return valuesOf(command.arguments?.[place]?.kind ?? 'text')
}

/** Of the names that begin with these words. */
const nextWords = (names: readonly string[], words: readonly string[]) =>
  names
    .map((name) => name.split(' '))
    .filter((parts) => parts.length > words.length && words.every((word, place) => word === parts[place]))
    .map((parts) => parts[words.length]!)

const optionOf = (options: Options, word: string) =>
  Object.entries(options).find(
    ([name, { short }]) => word === `--${name}` || (short && word === `-${short}`),
  )?.[1]

/** Nothing for files: the shell knows them better. */
async function valuesOf(kind: ArgumentKind): Promise<readonly string[]> {
  if (typeof kind !== 'string') return kind
  if (kind === 'text' || kind === 'file') return []
  const config = readUserConfig()
  if (kind === 'profile') return Object.keys((await readProfiles(config)).profiles)
  const call: Call = {
    args: [],
    values: { quiet: true },
    config,
    terminal: openTerminal({ quiet: true }, config),
  }
  const { url, user, key } = await findAccess(call)
  if (kind === 'job') return (await knownJobs(config, url, user)).slice(0, 20).map(({ id }) => id)
  const known = await remembered(config.stateFolder, `${url} ${user}`, () => askNames(url, user, key))
  return kind === 'table' ? known.tables : known.keys
}

type Names = Readonly<{ tables: readonly string[]; keys: readonly string[] }>

/** Names, never tokens, are kept for a minute. */
async function remembered(folder: string, account: string, ask: () => Promise<Names>): Promise<Names> {
  const path = join(folder, `names-${createHash('sha256').update(account).digest('hex').slice(0, 16)}.json`)
  const kept = await readFile(path, 'utf8').then(JSON.parse, () => undefined)
  if (kept && Date.now() - kept.at < 60_000) return kept as Names
  const names = await ask()
  await makeFolder(folder, 0o700)
  await writeFile(path, JSON.stringify({ at: Date.now(), ...names }), { mode: 0o600 })
  return names
}

/** Whoever pressed Tab has little patience, and a key that is not master sees no keys. */
async function askNames(baseUrl: string, username: string, token: string): Promise<Names> {
  const client = createClient({ baseUrl, username, token, retries: 0 })
  const late = setTimeout(() => client.close(), 2_000)
  try {
    const [tables, keys] = await Promise.all([
      client.tables
        .list({ per_page: 100 })
        .then(({ visualizations }) => visualizations.map(({ name }) => name)),
      client.keys
        .list({ per_page: 100 })
        .then(({ result }) => result.map(({ name }) => name))
        .catch(() => []),
    ])
    return { tables, keys }
  } finally {
    clearTimeout(late)
    client.close()
  }
}

const scripts: Readonly<Record<string, string>> = {
  bash: `_cartage() {
  local line
  local -a words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # What was completed before is quoted with backslashes.
  words[COMP_CWORD-1]="\${words[COMP_CWORD-1]//\\\\/}"
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v line %q "$line"
    COMPREPLY+=("$line")
  done < <(cartage __complete "\${words[@]}" 2>/dev/null)
}
complete -o default -F _cartage cartage
`,
  zsh: `#compdef cartage
_cartage() {
  local -a found
  found=("\${(@f)$(cartage __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _cartage cartage
`,
  fish: `function __cartage_complete
  set -l found (cartage __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c cartage -f -a '(__cartage_complete)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName cartage -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += ' ' }
  cartage __complete @words 2>$null | ForEach-Object {
    $quoted = "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($_) + "'"
    $text = if ($_ -cmatch '^[A-Za-z0-9_.-]+$') { $_ } else { $quoted }
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`,
}

export const completionCommand: UserCommand = {
  name: 'completion',
  summary: 'print the completion for a shell',
  arguments: [{ name: 'SHELL', kind: Object.keys(scripts) }],
  details: [
    '  bash        source <(cartage completion bash)          in ~/.bashrc',
    '  zsh         source <(cartage completion zsh)           in ~/.zshrc, after compinit',
    '  fish        cartage completion fish | source           in ~/.config/fish/config.fish',
    '  powershell  cartage completion powershell | Out-String | Invoke-Expression',
  ],
  run: async ({ args, terminal }) => {
    const script = scripts[args[0]!]
    if (!script)
      throw new UsageError(`there is completion for ${Object.keys(scripts).join(', ')}, not for '${args[0]}'`)
    terminal.out.write(script)
    return 0
  },
}

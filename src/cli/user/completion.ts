import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, createClient } from '../../client/client.ts'
import { readUserConfig } from '../../config/config.ts'
import { makeFolder } from '../../files/make-folder.ts'
import { type ArgumentKind, type CommandOptions, findCommand } from '../command.ts'
import type { HelpPages } from '../help.ts'
import { isPlainLine } from '../printable.ts'
import { openTerminal } from '../terminal.ts'
import type { UserCall, UserCommand } from './command.ts'
import { findAccess } from './profile/access.ts'
import { readProfiles } from './profile/profiles.ts'

/**
 * The possible next words, one in a line. The typed words are arguments and are never run. Any user may have chosen a
 * name: the scripts quote names for their shell, and names with control characters are left out.
 */
export async function complete(pages: HelpPages, typed: readonly string[]): Promise<readonly string[]> {
  const words = typed.map((word) => (word.trim() === '' ? '' : word))
  const last = words.at(-1) ?? ''
  const candidates = await candidatesFor(pages, words.slice(0, -1), last)
  return [...new Set(candidates)].filter((candidate) => candidate.startsWith(last) && isPlainLine(candidate))
}

async function candidatesFor(
  { sections, topics }: HelpPages,
  before: readonly string[],
  last: string,
): Promise<readonly string[]> {
  const plain = before.filter((word) => !word.startsWith('-'))
  const names = sections.flatMap(({ commands }) => commands.map(({ name }) => name))
  const section = sections.find(({ commands }) => findCommand(commands, plain))
  if (!section) return nextWords(names, plain)
  const { command, rest } = findCommand(section.commands, plain)!
  const options: CommandOptions = { ...command.options, ...section.commonOptions }
  const option = optionOf(options, before.at(-1) ?? '')
  if (option?.type === 'string') return valuesOf(option.kind ?? 'text')
  if (last.startsWith('-'))
    return Object.keys(options).map((name) => (name.length > 1 ? `--${name}` : `-${name}`))
  if (command.name === 'help') return nextWords([...names, ...Object.keys(topics)], rest)
  return valuesOf(command.arguments?.[rest.length]?.kind ?? 'text')
}

/** The next word of every name that begins with the words. */
const nextWords = (names: readonly string[], words: readonly string[]) =>
  names
    .map((name) => name.split(' '))
    .filter((parts) => parts.length > words.length && words.every((word, place) => word === parts[place]))
    .map((parts) => parts[words.length]!)

const optionOf = (options: CommandOptions, word: string) =>
  Object.entries(options).find(
    ([name, { short }]) => word === `--${name}` || (short && word === `-${short}`),
  )?.[1]

/** Nothing for files: then the shell completes them itself. */
async function valuesOf(kind: ArgumentKind): Promise<readonly string[]> {
  if (typeof kind !== 'string') return kind
  if (kind === 'text' || kind === 'file') return []
  const config = readUserConfig()
  if (kind === 'profile') return Object.keys((await readProfiles(config)).profiles)
  const values = { quiet: true }
  const call: UserCall = { args: [], values, config, terminal: openTerminal(values, config) }
  const { url, user, key } = await findAccess(call)
  const known = await cachedNames(config.stateFolder, `${url} ${user}`, () => askNames(url, user, key))
  return known[kind]
}

/** By the kind of argument. */
type CompletionNames = Readonly<Record<'table' | 'key' | 'job' | 'query', readonly string[]>>

/** Names are kept for a minute, tokens never. */
async function cachedNames(
  folder: string,
  account: string,
  ask: () => Promise<CompletionNames>,
): Promise<CompletionNames> {
  const path = join(folder, `names-${createHash('sha256').update(account).digest('hex').slice(0, 16)}.json`)
  const kept = await readFile(path, 'utf8').then(JSON.parse, () => undefined)
  if (kept && Date.now() - kept.at < 60_000) return kept as CompletionNames
  const names = await ask()
  await makeFolder(folder, 0o700)
  await writeFile(path, JSON.stringify({ at: Date.now(), ...names }), { mode: 0o600 })
  return names
}

/** Gives up after 2 seconds, because the person waits. Only a master key may list keys, jobs and queries. */
async function askNames(baseUrl: string, username: string, token: string): Promise<CompletionNames> {
  const client = createClient({ baseUrl, username, token, retries: 0 })
  const late = setTimeout(() => client.close(), 2_000)
  try {
    const [table, key, job, query] = await Promise.all([
      client.tables
        .list({ per_page: 100 })
        .then(({ visualizations }) => visualizations.map(({ name }) => name)),
      client.keys
        .list({ per_page: 100 })
        .then(({ result }) => result.map(({ name }) => name))
        .catch(() => []),
      newestJobs(client).catch(() => []),
      client.queries
        .list()
        .then((queries) => queries.map(({ name }) => name))
        .catch(() => []),
    ])
    return { table, key, job, query }
  } finally {
    clearTimeout(late)
    client.close()
  }
}

async function newestJobs({ jobs }: Client): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { job_id: id } of jobs.list({ per_page: 20 })) if (ids.push(id) === 20) break
  return ids
}

const scripts: Readonly<Record<string, string>> = {
  bash: `_cartage() {
  local line
  local -a words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # An earlier completion quoted the word with backslashes.
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
  summary: 'print the completion script of a shell',
  arguments: [{ name: 'SHELL', kind: Object.keys(scripts) }],
  details: [
    '  bash        source <(cartage completion bash)          in ~/.bashrc',
    '  zsh         source <(cartage completion zsh)           in ~/.zshrc, after compinit',
    '  fish        cartage completion fish | source           in ~/.config/fish/config.fish',
    '  powershell  cartage completion powershell | Out-String | Invoke-Expression',
  ],
  run: async ({ args, terminal }) => {
    terminal.out.write(scripts[args[0]!]!)
  },
}

import {
  type Command,
  type CommandOptions,
  type CommandSection,
  commandsOf,
  findCommand,
  usageOf,
} from './command.ts'
import { UsageError } from './command-error.ts'

/** What `cartage help` knows. */
export type HelpPages = Readonly<{
  sections: readonly CommandSection[]
  /** Pages that are not about a command, such as `formats`. */
  topics: Readonly<Record<string, readonly string[]>>
  /** The last line of the overview. */
  footer: string
}>

/** `cartage help [COMMAND]`. The pages are made late, because they have this command too. */
export const helpCommand = (pages: () => HelpPages): Command => ({
  name: 'help',
  summary: 'explain a command, the formats or the exit codes',
  arguments: [{ name: 'COMMAND', kind: 'text', isOptional: true, isMany: true }],
  run: async ({ args }) => {
    const lines = args.length === 0 ? overview(pages()) : helpPage(pages(), args)
    if (!lines)
      throw new UsageError(`there is no help for '${args.join(' ')}'; cartage --help lists the commands`)
    return { lines }
  },
})

/** All commands, one line each. */
export function overview({ sections, footer }: HelpPages): readonly string[] {
  return [
    'usage: cartage COMMAND',
    '',
    ...sections.flatMap((section) => [...sectionLines(section), '']),
    footer,
  ]
}

/** The page of a topic, a command or a group of commands; undefined if there is none. */
export function helpPage(
  { sections, topics }: HelpPages,
  words: readonly string[],
): readonly string[] | undefined {
  const name = words.join(' ')
  if (Object.hasOwn(topics, name)) return topics[name]
  const found = sections
    .map((section) => ({ ...section, commands: commandsOf(section.commands, name) }))
    .filter(({ commands }) => commands.length > 0)
  if (found.length === 0) return pageOfFirstWords(sections, words)
  const own = found.find(({ commands }) => commands.some((one) => one.name === name))
  return own ? commandPage(own, name) : groupPage(found)
}

/** Words after the name of a command do not matter: `help user create ann`. */
function pageOfFirstWords(sections: readonly CommandSection[], words: readonly string[]) {
  for (const section of sections) {
    const found = findCommand(section.commands, words)
    if (found) return commandPage(section, found.command.name)
  }
  return undefined
}

export function commandPage({ commands, commonOptions }: CommandSection, name: string): readonly string[] {
  const command = commands.find((one) => one.name === name)!
  const { summary, options = {}, details = [] } = command
  const further = commands.filter((one) => one.name.startsWith(`${name} `))
  return [
    `usage: ${usageOf(command)}`,
    '',
    summary,
    ...(details.length > 0 ? ['', ...details] : []),
    ...(Object.keys(options).length > 0 ? ['', 'Options:', ...optionLines(options)] : []),
    '',
    'Common options:',
    ...optionLines(commonOptions),
    ...(further.length > 0 ? ['', 'See also:', ...inColumns(further.map(nameAndSummary))] : []),
  ]
}

/** Commands with the same first word, such as `job`. */
function groupPage(sections: readonly CommandSection[]): readonly string[] {
  return [
    ...sections.flatMap((section) => [...sectionLines(section), '']),
    `cartage help ${sections[0]!.commands[0]!.name} explains one.`,
  ]
}

const sectionLines = ({ title, commands }: CommandSection) => [
  `${title}:`,
  ...inColumns(commands.map(nameAndSummary)),
]

const nameAndSummary = ({ name, summary }: CommandSection['commands'][number]) => [name, summary] as const

function optionLines(options: CommandOptions): readonly string[] {
  return inColumns(
    Object.entries(options).map(([name, { short, value = '', help }]) => {
      const long = name.length > 1 ? `--${name}` : ''
      return [`${[short && `-${short}`, long].filter(Boolean).join(', ')} ${value}`.trim(), help]
    }),
  )
}

export function inColumns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`)
}

/** `user --help`: the words before the flag; undefined without the flag. */
export function wordsBeforeHelp(words: readonly string[]): readonly string[] | undefined {
  const others = words.filter((word) => word !== '--help' && word !== '-h')
  return others.length < words.length ? others : undefined
}

/** If the first word is right, the message has the words that can follow it. */
export function unknownCommand(sections: readonly CommandSection[], words: readonly string[]): UsageError {
  const [first = ''] = words
  const next = sections
    .flatMap(({ commands }) => commands)
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name }) => name.slice(first.length + 1))
  const help =
    next.length > 0 ? `after '${first}' comes one of ${next.join(', ')}` : 'cartage --help lists them'
  return new UsageError(`unknown command '${words.slice(0, 2).join(' ')}'; ${help}`)
}

import { serviceCommands } from '../service-commands.ts'
import { commonOptions, type Options, type UserCommand, usageOf } from './command.ts'
import { formats } from './output/formats.ts'

/** All commands, each in one line. */
export function overview(commands: readonly UserCommand[]): readonly string[] {
  return [
    'usage: cartage COMMAND',
    '',
    'With a key, over HTTP:',
    ...inColumns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'On the machine of the service:',
    ...inColumns(Object.entries(serviceCommands)),
    '',
    'cartage help COMMAND explains one; also: help formats, help exit-codes.',
  ]
}

export function explainCommand(command: UserCommand): readonly string[] {
  const { summary, options = {}, details = [] } = command
  return [
    `usage: ${usageOf(command)}`,
    '',
    summary,
    ...(details.length > 0 ? ['', ...details] : []),
    ...(Object.keys(options).length > 0 ? ['', 'Options:', ...optionLines(options)] : []),
    '',
    'For every command:',
    ...optionLines(commonOptions),
  ]
}

/** All of a word such as `job`. */
export const explainGroup = (commands: readonly UserCommand[]): readonly string[] => [
  ...inColumns(commands.map(({ name, summary }) => [name, summary])),
  '',
  `cartage help ${commands[0]!.name} explains one.`,
]

function optionLines(options: Options): readonly string[] {
  return inColumns(
    Object.entries(options).map(([name, { short, value = '', help }]) => {
      const long = name.length > 1 ? `--${name}` : ''
      return [`${[short && `-${short}`, long].filter(Boolean).join(', ')} ${value}`.trim(), help]
    }),
  )
}

function inColumns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`)
}

export const topics: Readonly<Record<string, readonly string[]>> = {
  formats: [
    `--format takes ${formats.join(', ')}.`,
    '',
    ...inColumns([
      ['table', 'the usual one on a terminal; cells that do not fit are cut with …'],
      ['line', 'every column in a line of its own'],
      ['csv', 'with a header; NULL is nothing, an empty text is ""'],
      ['tsv', 'with a header; NULL is \\N, as in COPY'],
      ['json', 'the whole answer of the service as one document; --json is the same'],
      ['ndjson', 'the usual one in a pipe or file: one JSON object in a line'],
      ['geojson', 'a FeatureCollection: the_geom is the geometry'],
      ['markdown', 'a table for a text'],
    ]),
    '',
    'Rows stream, whatever their number; digits are never rounded.',
  ],
  'exit-codes': inColumns([
    ['0', 'done'],
    ['1', 'the database or the service said no; a job that failed or is unknown'],
    ['2', 'called wrongly'],
    ['3', 'not reachable, or over a limit (429, 503): try again'],
    ['4', 'no key, or a wrong one'],
    ['130', 'interrupted'],
  ]),
}

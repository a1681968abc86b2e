import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import type { OnProgress } from '../../../client/http/send.ts'
import { fileFormats, formatFacts, sqlFormats } from '../../../contract/formats.ts'
import { formatBytes, formatDuration, plural } from '../../../contract/text/format.ts'
import type { CommandResult } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { statNamedFile } from '../../named-file.ts'
import { textOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { at, wholeText } from '../explain.ts'
import { showProgress, transferLine } from '../progress.ts'
import { type Service, withService } from '../service.ts'
import { readTableName, tableInSql } from '../table-name.ts'
import { passOn, writeTo } from '../whole-file.ts'
import { checkLinkOptions, linkTo } from './export-link.ts'

const exportFormats = ['csv', 'text', 'binary', 'geojson', 'ndjson', 'json', ...fileFormats] as const
type ExportFormat = (typeof exportFormats)[number]

const exportCommand: UserCommand = {
  name: 'export',
  summary: 'save a table or the rows of a query',
  arguments: [{ name: 'TABLE|QUERY', kind: 'table' }],
  options: {
    output: {
      type: 'string',
      short: 'o',
      value: 'FILE',
      kind: 'file',
      help: 'file to write; stdout if not given',
    },
    format: {
      type: 'string',
      value: 'F',
      kind: exportFormats,
      help: `one of ${exportFormats.join(', ')}; by default the extension of FILE, or csv`,
    },
    link: { type: 'boolean', help: 'print an address that downloads the rows without a key' },
    'expires-in': {
      type: 'string',
      value: 'SECONDS',
      help: 'of the link: 86400 by default, 604800 at most',
    },
    'max-downloads': { type: 'string', value: 'N', help: 'of the link' },
  },
  details: [
    'FILE appears when it is complete.',
    '',
    '  cartage export places -o places.geojson',
    "  cartage export 'select * from places where pop > 1e6' -o large.csv",
    '  cartage export places --format gpkg --link --expires-in 3600',
  ],
  run: async (call) => {
    checkLinkOptions(call)
    return withService(call, async (service): Promise<CommandResult | undefined> => {
      if (call.values.link) return makeLink(call, service)
      await exportRows(call, service)
      return undefined
    })
  },
}

async function exportRows(call: UserCall, service: Service): Promise<void> {
  const file = textOf(call.values, 'output')
  const format = exportFormatOf(call, file)
  const query = queryOf(call.args[0]!)
  if (
    (format === 'binary' || fileFormats.some((each) => each === format)) &&
    file === undefined &&
    call.terminal.out.isTerminal
  )
    throw new UsageError(`the format ${format} cannot be shown on a terminal: add -o FILE`)
  const onWarnings = (warnings: readonly string[]) => {
    for (const warning of warnings) call.terminal.say(`warning: ${warning}`)
  }
  await transferOut(call, file, (onProgress) => {
    const { client, signal } = service
    const isCopied = format === 'csv' || format === 'text' || format === 'binary'
    return at({ text: query, from: -copyHead.length, statement: `${copyHead}${query}` }, () =>
      isCopied
        ? client.copyTo(
            `${copyHead}${query}\n) to stdout with (format ${format}${format === 'csv' ? ', header true' : ''})`,
            { signal, onProgress },
          )
        : client.download(query, { format, signal, onProgress, onWarnings }),
    )
  })
}

function makeLink(call: UserCall, service: Service): Promise<CommandResult> {
  const format = exportFormatOf(call, undefined)
  if (format === 'text' || format === 'binary')
    throw new UsageError(`a link has no format ${format}: use one of ${sqlFormats.join(', ')}`)
  return linkTo(call, service, queryOf(call.args[0]!), format)
}

const copyHead = 'copy ('

function exportFormatOf({ values }: UserCall, file: string | undefined): ExportFormat {
  return (textOf(values, 'format') as ExportFormat | undefined) ?? formatByName(file)
}

/** An unknown extension is refused, so that no file has the wrong one. */
function formatByName(file = ''): ExportFormat {
  const [, extension] = /\.(\w+)$/.exec(basename(file)) ?? []
  if (extension === undefined) return 'csv'
  const format = extensions.get(extension.toLowerCase())
  if (format) return format
  throw new UsageError(`unknown file type .${extension}: use --format, one of ${exportFormats.join(', ')}`)
}

const extensions: ReadonlyMap<string, ExportFormat> = new Map<string, ExportFormat>([
  ...sqlFormats.map((format) => [formatFacts[format].extension, format] as const),
  ['jsonl', 'ndjson'],
  ['arrows', 'arrow'],
  ['geoparquet', 'parquet'],
  ['shp', 'shp'],
  ['tsv', 'text'],
  ['txt', 'text'],
])

/** A text that begins like a query is one; anything else is the name of a table. */
function queryOf(source: string): string {
  if (/^\s*(select|with|values|table)\s/i.test(source)) return source.replace(/;\s*$/, '')
  return `select * from ${tableInSql(readTableName(source))}`
}

/** Writes the bytes to a file or stdout and shows progress. */
async function transferOut(
  { terminal }: UserCall,
  file: string | undefined,
  open: (onProgress: OnProgress) => Promise<AsyncIterable<Uint8Array>>,
): Promise<void> {
  const startedAt = performance.now()
  let bytes = 0
  const stop = showProgress(terminal, () => transferLine(bytes, undefined, startedAt))
  try {
    await writeTo(file, async (target) => {
      const source = await open((progress) => {
        bytes = progress.bytes
      })
      await passOn(source, target)
    })
  } finally {
    stop()
  }
  if (terminal.err.isTerminal) {
    const taken = formatDuration(performance.now() - startedAt)
    terminal.say(`${file && file !== '-' ? `${file}: ` : ''}${formatBytes(bytes)} in ${taken}`)
  }
}

const copyArguments = [
  { name: 'STATEMENT', kind: 'text' },
  { name: 'FILE', kind: 'file' },
] as const

const copyFrom: UserCommand = {
  name: 'copy from',
  summary: 'load a file with COPY ... FROM STDIN',
  arguments: copyArguments,
  details: ['FILE - is stdin.', '', "  cartage copy from 'copy places from stdin csv header' places.csv"],
  run: (call) =>
    withService(call, async ({ client, signal }) => {
      const [statement, file] = call.args as [string, string]
      const total = file === '-' ? undefined : (await statNamedFile(file)).size
      const rows = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
      const startedAt = performance.now()
      let sent = 0
      const stop = showProgress(call.terminal, () =>
        sent === total ? 'sent; PostgreSQL is storing the rows' : transferLine(sent, total, startedAt),
      )
      const onProgress = ({ bytes }: { bytes: number }) => {
        sent = bytes
      }
      const answer = await at(wholeText(statement), () =>
        client.copyFrom(statement, rows, { signal, onProgress }),
      ).finally(stop)
      return { document: answer, lines: [`${plural(answer.total_rows, 'row')} in ${answer.time} s`] }
    }),
}

const copyTo: UserCommand = {
  name: 'copy to',
  summary: 'save the rows of COPY ... TO STDOUT',
  arguments: copyArguments,
  details: [
    'FILE appears when it is complete; - is stdout.',
    '',
    "  cartage copy to 'copy places to stdout csv header' places.csv",
  ],
  run: (call) =>
    withService(call, async ({ client, signal }) => {
      const [statement, file] = call.args as [string, string]
      await transferOut(call, file, (onProgress) =>
        at(wholeText(statement), () => client.copyTo(statement, { signal, onProgress })),
      )
      return { document: { file } }
    }),
}

export const transferCommands: readonly UserCommand[] = [exportCommand, copyFrom, copyTo]

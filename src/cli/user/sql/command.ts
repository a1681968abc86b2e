import { text } from 'node:stream/consumers'
import type { SqlValue } from '../../../client/api/sql-statement.ts'
import { type ExplainStep, explainStatement, whyNotExplained } from '../../../sql-text/explain-statement.ts'
import { splitStatements } from '../../../sql-text/statements.ts'
import { wrongCall } from '../../command.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import { textOf } from '../../option-values.ts'
import { fileOption, type UserCall, type UserCommand } from '../command.ts'
import { at, type StatementPlace, wholeText } from '../explain.ts'
import { formatByExtension, type OutputFormat, outputFormats } from '../output/formats.ts'
import { type Service, withServiceAs } from '../service.ts'
import { writeTo } from '../whole-file.ts'
import { bindValues, refuseUnused, valueOptions, valuesOf } from './bound-values.ts'
import { runInteractive } from './interactive.ts'
import { type Output, runStatement } from './run-statement.ts'

export const sqlCommand: UserCommand = {
  name: 'sql',
  summary: 'run SQL and print its rows',
  arguments: [{ name: 'STATEMENT', kind: 'text', isOptional: true }],
  options: {
    file: fileOption('statements'),
    1: { type: 'boolean', short: '1', help: 'run the whole file in one transaction' },
    format: { type: 'string', value: 'F', kind: outputFormats, help: `one of ${outputFormats.join(', ')}` },
    output: { type: 'string', short: 'o', value: 'FILE', kind: 'file', help: 'write the rows to a file' },
    ...valueOptions,
    explain: { type: 'boolean', help: 'show the plan of one statement' },
    analyze: { type: 'boolean', help: 'run the statement, show the plan with times, and roll back' },
    as: {
      type: 'string',
      value: 'KEY',
      kind: 'key',
      help: 'run with the rights of another key of the account',
    },
  },
  details: [
    'STATEMENT runs in one transaction. The statements of a file or stdin run one by one in one session,',
    'as in psql, until the first error: BEGIN, COMMIT, SET and temporary tables work across them.',
    'Without a statement, on a terminal, cartage sql is interactive.',
    '',
    "  cartage sql 'select name, pop from places order by pop desc limit 2'",
    "  cartage sql 'select * from places' --format csv -o places.csv",
    "  cartage sql 'select * from places where name = :town' -p town=Lyon",
    '  cartage sql -1 -f migrate.sql',
    '  cartage sql < report.sql | jq .name',
  ],
  run: async (call) => {
    const { values } = call
    const format = formatOf(call)
    const texts = boundTexts(call, await readTexts(call))
    return withServiceAs(call, textOf(values, 'as'), async (service) => {
      if (!texts) return runInteractive(call, service, format)
      await writeTo(textOf(values, 'output'), async (target) => {
        if (needsSession(call, texts)) await runInSession(call, service, texts, { format, target })
        else for (const place of texts) await runOrExplain(call, service, place, { format, target })
      })
    })
  },
}

/** One text alone is answered by the SQL endpoint; plans need no session. */
const needsSession = ({ values }: UserCall, texts: readonly PlacedText[]) =>
  texts.length > 1 && !values.explain && !values.analyze

/** Runs the statements of a file in one session; with -1 in one transaction. */
async function runInSession(
  call: UserCall,
  service: Service,
  texts: readonly PlacedText[],
  output: Output,
): Promise<void> {
  const session = await service.openSession(service.signal)
  const { signal } = service
  const isOne = call.values['1'] === true
  try {
    if (isOne) await session.sql('begin', { signal })
    for (const place of texts) await runStatement(call, { client: session, signal }, place, output)
    if (isOne) await session.sql('commit', { signal })
    if (session.transaction !== 'none') throw new FailedError(leftOpen)
  } finally {
    session.close()
  }
}

const leftOpen = 'the statements end inside a transaction: it was rolled back. End it with COMMIT'

export function formatOf({ values, terminal }: UserCall): OutputFormat {
  const format = values.json ? 'json' : (textOf(values, 'format') as OutputFormat | undefined)
  if (format !== undefined) return format
  const file = textOf(values, 'output')
  if (file !== undefined) return formatByExtension(file) ?? 'ndjson'
  return terminal.out.isTerminal ? 'table' : 'ndjson'
}

type PlacedText = Omit<StatementPlace, 'startedAt'> & Readonly<{ params?: readonly SqlValue[] }>

/** The texts with the values of -p and --params. */
function boundTexts(
  call: UserCall,
  texts: readonly PlacedText[] | undefined,
): readonly PlacedText[] | undefined {
  const values = valuesOf(call)
  if (!values) return texts
  if (!texts) throw wrongCall(sqlCommand, 'values need a statement or -f FILE')
  const used = new Set<string>()
  const bound = texts.map((place) => bindValues(place, values, used))
  refuseUnused(values, used)
  return bound
}

/** The texts to send one by one; undefined for the interactive mode. */
async function readTexts({
  args: [statement],
  values,
}: UserCall): Promise<readonly PlacedText[] | undefined> {
  const file = textOf(values, 'file')
  if (statement !== undefined) {
    if (file !== undefined) throw wrongCall(sqlCommand, 'give a statement or -f FILE, not both')
    return [wholeText(statement)]
  }
  if (file === undefined && process.stdin.isTTY) return undefined
  const content = file === undefined || file === '-' ? await text(process.stdin) : await readNamedFile(file)
  const statements = splitStatements(content)
  if (statements.length === 0) throw new UsageError(`there is no statement in ${file ?? 'standard input'}`)
  return statements.map(({ from, text: one }) => ({ text: content, from, statement: one }))
}

async function runOrExplain(
  call: UserCall,
  service: Service,
  place: PlacedText,
  output: Output,
): Promise<void> {
  const { values, terminal } = call
  if (!values.explain && !values.analyze) return runStatement(call, service, place, output)
  const reason = whyNotExplained(place.statement)
  if (reason) throw new UsageError(reason)
  if (values.analyze && place.params)
    throw new UsageError('--analyze takes no values: write them into the statement')
  const { plan, analyze } = explainStatement(place.statement, 'text')
  const params = place.params ?? []
  const planned = { ...stepOf(place, plan), params }
  if (!values.analyze) return runStatement(call, service, planned, output)
  await at(planned, () => service.client.sql(plan.text, { params, signal: service.signal }))
  terminal.say('rolled back: the statement was run only for its plan')
  return runStatement(call, service, stepOf(place, analyze), output)
}

const stepOf = (place: PlacedText, { text, before }: ExplainStep): PlacedText => ({
  ...place,
  from: place.from - before,
  statement: text,
})

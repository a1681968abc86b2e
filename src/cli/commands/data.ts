import { createReadStream, createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../../client/client.ts'
import { stringifyExact } from '../../client/exact-json.ts'
import type { Command, CommandResult } from '../command.ts'
import { withStatement } from '../explain-error.ts'
import { untilInterrupted } from '../interrupt.ts'
import { connection, connectionUsage, withClient } from '../with-client.ts'

const sql: Command = {
  name: 'sql',
  usage: `STATEMENT ${connectionUsage}`,
  summary: 'run a statement and print its rows',
  positionals: ['STATEMENT'],
  options: connection,
  run: async ([statement], options) => {
    const answer = await withClient(options, (client) =>
      untilInterrupted((signal) => withStatement(statement!, client.sql(statement!, { signal }))),
    )
    return { document: answer, lines: answer.rows.map(stringifyExact) }
  },
}

const copyFrom = copyCommand(
  'from',
  'load a file with COPY ... FROM STDIN; FILE - is standard input',
  async (client, statement, file, signal) => {
    const rows = file === '-' ? process.stdin : createReadStream(file)
    const answer = await withStatement(statement, client.copyFrom(statement, rows, { signal }))
    return { document: answer, lines: [`${answer.total_rows} rows in ${answer.time} s`] }
  },
)

const copyTo = copyCommand(
  'to',
  'save what COPY ... TO STDOUT produces, whole or not at all; FILE - is standard output',
  async (client, statement, file, signal) => {
    const bytes = await withStatement(statement, client.copyTo(statement, { signal }))
    await (file === '-' ? pipeline(bytes, process.stdout, { end: false, signal }) : save(bytes, file, signal))
    return { document: { file }, lines: [] }
  },
)

export const dataCommands: readonly Command[] = [sql, copyFrom, copyTo]

function copyCommand(
  direction: 'from' | 'to',
  summary: string,
  copy: (client: Client, statement: string, file: string, signal: AbortSignal) => Promise<CommandResult>,
): Command {
  return {
    name: `copy ${direction}`,
    usage: `STATEMENT FILE ${connectionUsage}`,
    summary,
    positionals: ['STATEMENT', 'FILE'],
    options: connection,
    run: ([statement, file], options) =>
      withClient(options, (client) => untilInterrupted((signal) => copy(client, statement!, file!, signal))),
  }
}

/** Under its own name a file is whole: until then it has another. A pipe or a device is written to as it is. */
async function save(bytes: AsyncIterable<Uint8Array>, file: string, signal: AbortSignal): Promise<void> {
  const known = await stat(file).catch(() => undefined)
  if (known && !known.isFile()) return pipeline(bytes, createWriteStream(file), { signal })
  const target = await realpath(file).catch(() => file)
  const part = `${target}.part`
  try {
    await pipeline(bytes, createWriteStream(part), { signal })
    await rename(part, target)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

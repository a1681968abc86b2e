import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { type Client, createClient } from '../../client/client.ts'
import { readConfig } from '../../config.ts'
import { errors } from '../../errors.ts'
import { type Command, type OptionValues, UsageError } from '../command.ts'

const connection = { url: { type: 'string' }, user: { type: 'string' }, key: { type: 'string' } } as const
const connectionUsage = '[--url URL] [--user USER] [--key TOKEN]'

const sql: Command = {
  name: 'sql',
  usage: `STATEMENT ${connectionUsage}`,
  summary: 'run a statement and print its rows',
  positionals: ['STATEMENT'],
  options: connection,
  run: async ([statement], options) => {
    const answer = await withClient(options, (client) => client.sql(statement!))
    return { document: answer, lines: answer.rows.map((row) => JSON.stringify(row)) }
  },
}

const job: Command = {
  name: 'job run',
  usage: `STATEMENT ${connectionUsage}`,
  summary: 'queue a batch job and wait for its end; exit code 1 unless it is done',
  positionals: ['STATEMENT'],
  options: connection,
  run: async ([statement], options) => {
    const ended = await withClient(options, async ({ jobs }) => {
      const { job_id } = await jobs.create(statement!)
      return jobs.finished(job_id)
    })
    const reason = ended.failed_reason ? `: ${ended.failed_reason}` : ''
    return {
      document: ended,
      lines: [`${ended.job_id} ${ended.status}${reason}`],
      exitCode: ended.status === 'done' ? 0 : 1,
    }
  },
}

const copyFrom: Command = {
  name: 'copy from',
  usage: `STATEMENT FILE ${connectionUsage}`,
  summary: 'load a file with COPY ... FROM STDIN; FILE - is standard input',
  positionals: ['STATEMENT', 'FILE'],
  options: connection,
  run: async ([statement, file], options) => {
    const rows = file === '-' ? process.stdin : createReadStream(file!)
    const answer = await withClient(options, (client) => client.copyFrom(statement!, rows))
    return { document: answer, lines: [`${answer.total_rows} rows in ${answer.time} s`] }
  },
}

const copyTo: Command = {
  name: 'copy to',
  usage: `STATEMENT FILE ${connectionUsage}`,
  summary: 'save what COPY ... TO STDOUT produces; FILE - is standard output',
  positionals: ['STATEMENT', 'FILE'],
  options: connection,
  run: async ([statement, file], options) => {
    await withClient(options, async (client) => {
      const bytes = await client.copyTo(statement!)
      await (file === '-'
        ? pipeline(bytes, process.stdout, { end: false })
        : pipeline(bytes, createWriteStream(file!)))
    })
    return { document: { file }, lines: [] }
  },
}

/** What a user of the service does, over HTTP like everybody else. */
export const dataCommands: readonly Command[] = [sql, job, copyFrom, copyTo]

async function withClient<T>(options: OptionValues, work: (client: Client) => Promise<T>): Promise<T> {
  const config = readConfig()
  const username = (options.user as string | undefined) ?? config.clientUser
  const token = (options.key as string | undefined) ?? config.clientKey
  if (!username || !token)
    throw new UsageError('--user and --key (or CARTAGE_USER and CARTAGE_API_KEY) are required')
  const baseUrl = (options.url as string | undefined) ?? config.clientUrl
  const client = createClient({ baseUrl, username, token })
  try {
    return await work(client)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED')
      throw errors.serviceUnreachable(baseUrl, error)
    throw error
  } finally {
    client.close()
  }
}

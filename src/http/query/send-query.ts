import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { fileFormats, formatFacts, type SqlFormat } from '../../contract/formats.ts'
import { answerQuery } from '../../query/answer-query.ts'
import { countRows } from '../../query/count-rows.ts'
import { fileRules, type SpooledFormat } from '../../query/files/file-rules.ts'
import { programFormats } from '../../query/programs/run-program.ts'
import type { Query } from '../../query/query.ts'
import type { AnswerTarget } from '../../query/query-run.ts'
import { remembered } from '../../remembered.ts'
import type { ReplicaReader } from '../../statements/replica-reader.ts'
import type { ClientWait } from '../../statements/time-limits.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { contentDisposition } from '../middleware/content-disposition.ts'
import {
  chooseEncoding,
  encodeWhole,
  type OutputEncoding,
  smallBytes,
} from '../middleware/content-encoding.ts'
import { clientWait } from '../middleware/download/client-wait.ts'
import { breakOff, encodedInto, hijacked } from '../middleware/download/raw-answer.ts'
import { warningsHeader } from '../middleware/warnings-header.ts'
import type { Services } from '../services.ts'
import { FileAnswers, type SpooledFile } from './file-answer.ts'
import { FileTurns, waitWithin } from './file-turns.ts'
import { ProgramAnswers, type ProgramQuery } from './program-answer.ts'

/** Runs a query as the caller's role, and sends its rows in the format that it names. */
export async function sendQuery(
  services: Services,
  principal: Principal,
  query: Query,
  reply: FastifyReply,
  reader?: ReplicaReader,
): Promise<FastifyReply> {
  const { copyIdleMs: idleMs } = services.config
  const { files, programs } = writersOf(services)
  let target: AnswerTarget | undefined
  const open = () => {
    target = openLongAnswer(reply, query, idleMs)
    return target
  }
  const warnings: string[] = []
  const warn = (sentence: string) => {
    // The statement may have been run on a replica first.
    if (warnings.includes(sentence)) return
    warnings.push(sentence)
    reply.header('warnings', warningsHeader(warnings))
  }
  const client = { gone: clientGone(reply), open, warn, reader }
  try {
    const { total: kind } = query
    const total = kind && (await countRows(services.queries, principal, { ...query, total: kind }, client))
    if (total) reply.header('x-total-rows', total.rows)
    const fileWait = () =>
      waitWithin(clientWait(reply.raw, idleMs), services.queries.limitsOf(principal).whole.ms)
    if (isSpooledQuery(query)) {
      const deliver = (file: SpooledFile) => sendFile(reply, query, file, fileWait())
      await files.send(services.queries, principal, query, { ...client, deliver })
      return reply
    }
    if (isProgramQuery(query)) {
      const warning = programWarnings[query.format]
      if (warning !== undefined) warn(warning)
      await programs.send(services.queries, principal, query, {
        ...client,
        open: () => (query.format === 'topojson' ? openText(reply, query) : openAnswer(reply, query)),
        wait: fileWait(),
      })
      return reply
    }
    const answer = await answerQuery(services.queries, principal, query, client, total)
    // The statement is over; the client still reads.
    if (answer === null) target?.wait.begin(() => breakOff(reply.raw))
    else await sendAnswer(reply, query, answer)
  } catch (error) {
    if (!reply.sent) throw error
    reply.request.log.info({ err: error }, 'answer broke off')
    breakOff(reply.raw)
  }
  return reply
}

/** The writers of the whole process, because the routes exist under several prefixes. */
const writersOf = remembered(({ config }: Services) => ({
  files: new FileAnswers(new FileTurns(config.exportDiskBytes), config.importSandbox === 'none'),
  programs: new ProgramAnswers(new FileTurns(0)),
}))

const isSpooled = (format: SqlFormat): format is SpooledFormat => Object.hasOwn(fileRules, format)
const isSpooledQuery = (query: Query): query is Query & { format: SpooledFormat } => isSpooled(query.format)

const isProgramQuery = (query: Query): query is ProgramQuery =>
  programFormats.some((known) => known === query.format)

/** What these formats are by their own rules. */
const programWarnings: Partial<Record<SqlFormat, string>> = {
  topojson: 'coordinates are on a grid of 10,000 by 10,000, and rows without a geometry are left out',
  arraybuffer: 'numbers are float32, unless the name of the column ends in a type such as __int32',
}

/** KML is text. The others are compressed, or read at random places. */
async function sendFile(
  reply: FastifyReply,
  query: Query,
  file: SpooledFile,
  wait: ClientWait,
): Promise<void> {
  const isText = query.format === 'kml' && file.bytes >= smallBytes
  const encoding = isText ? chooseEncoding(reply.request.headers['accept-encoding']) : null
  if (encoding === null) reply.header('content-length', file.bytes)
  if (file.warnings.length > 0) reply.header('warnings', warningsHeader(file.warnings))
  wait.begin(() => breakOff(reply.raw))
  try {
    await pipeline(file.stream(), encoding === null ? openAnswer(reply, query) : openText(reply, query))
  } finally {
    wait.end()
  }
}

function openLongAnswer(reply: FastifyReply, query: Query, idleMs: number): AnswerTarget {
  const wait = clientWait(reply.raw, idleMs)
  return { sink: openText(reply, query), wait }
}

/** Compressed if the client accepts that. */
function openText(reply: FastifyReply, query: Query): Writable {
  const encoding = chooseEncoding(reply.request.headers['accept-encoding'])
  if (encoding === null) return openAnswer(reply, query)
  return encodedInto(hijacked(setHeaders(reply, query)), encoding)
}

/** A response written as its rows arrive. Bypasses Fastify, whose streams do not tell when a buffer is free again. */
function openAnswer(reply: FastifyReply, query: Query): ServerResponse {
  const headers = setHeaders(reply, query).getHeaders()
  return reply.hijack().raw.writeHead(200, headers as OutgoingHttpHeaders)
}

function sendAnswer(reply: FastifyReply, query: Query, body: string): void | Promise<void> {
  const encoding = body.length < smallBytes ? null : chooseEncoding(reply.request.headers['accept-encoding'])
  if (encoding !== null) return sendEncoded(reply, query, body, encoding)
  reply.header('content-length', body.length)
  openAnswer(reply, query).end(body, 'latin1')
}

async function sendEncoded(reply: FastifyReply, query: Query, body: string, encoding: OutputEncoding) {
  const encoded = await encodeWhole(Buffer.from(body, 'latin1'), encoding)
  reply.header('content-encoding', encoding).header('content-length', encoded.length)
  openAnswer(reply, query).end(encoded)
}

function setHeaders(reply: FastifyReply, { format, filename }: Query): FastifyReply {
  const { type, extension } = formatFacts[format]
  reply.header('content-type', type)
  // A saved query varies by more.
  if (!String(reply.getHeader('vary') ?? '').includes('Accept-Encoding'))
    reply.header('vary', 'Accept-Encoding')
  if (filename === undefined && format !== 'csv' && !isFile(format)) return reply
  const name = filename ?? 'cartodb-query'
  const file = name.toLowerCase().endsWith(`.${extension}`) ? name : `${name}.${extension}`
  // A drawing has no text of a caller.
  return reply.header('content-disposition', contentDisposition(file, format === 'svg'))
}

const isFile = (format: SqlFormat) => fileFormats.some((known) => known === format)

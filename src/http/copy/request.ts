import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Upload } from '../../copy/upload.ts'
import { tooLarge } from '../../copy/upload-pump.ts'
import { errors } from '../../errors.ts'
import { type CopyDirection, type CopyStatement, parseCopy } from '../../sql/copy-statement.ts'
import { clientGone } from '../frame/client-gone.ts'
import { contentDisposition } from '../frame/content-disposition.ts'
import { readContentEncoding } from '../frame/content-encoding.ts'
import { type Parameters, parametersOf, textOf, withoutEmpty } from '../frame/parameters.ts'
import { clientWait } from './client-wait.ts'
import { sendContinue } from './expect-continue.ts'
import type { FileHeaders } from './file-download.ts'

/** The statement of an upload stands in the query string, because the body is the data. */
export function readUploadStatement({ query }: FastifyRequest): CopyStatement {
  return readStatement(query as Parameters, 'from')
}

export function readUpload(config: Config, request: FastifyRequest, reply: FastifyReply): Upload {
  if (Number(request.headers['content-length']) > config.copyMaxBytes) throw tooLarge(config.copyMaxBytes)
  return {
    body: request.raw,
    encoding: readContentEncoding(request.headers['content-encoding']),
    begin: () => sendContinue(reply.raw),
    isComplete: () => request.raw.complete,
    wait: clientWait(reply.raw, config.copyIdleMs),
    gone: clientGone(reply),
  }
}

export function readDownload(request: FastifyRequest): { statement: CopyStatement; headers: FileHeaders } {
  const parameters = withoutEmpty(parametersOf(request))
  const statement = readStatement(parameters, 'to')
  const headers = {
    type: statement.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/octet-stream',
    disposition: contentDisposition(textOf(parameters, 'filename') ?? 'carto-sql-copyto.dmp'),
  }
  return { statement, headers }
}

function readStatement(parameters: Parameters, direction: CopyDirection): CopyStatement {
  // A download without them would hold other rows than were meant.
  if (Object.hasOwn(parameters, 'params')) throw errors.paramsInvalid('A COPY has no params')
  const statement = parseCopy(textOf(parameters, 'q') ?? '', direction)
  if (statement.ok) return statement
  if (statement.code === 'unavailable') throw errors.parserUnavailable()
  throw errors.copyRefused(statement.message, statement.position)
}

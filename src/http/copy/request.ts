import { isUtf8 } from 'node:buffer'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { ContentEncoding } from '../../contract/formats.ts'
import type { LoadOptions } from '../../copy/load/load.ts'
import type { Upload } from '../../copy/upload.ts'
import { tooLarge } from '../../copy/upload-pump.ts'
import { errors } from '../../errors.ts'
import {
  type CopyDirection,
  type CopyRefusal,
  type CopyStatement,
  parseCopy,
  parseLoad,
} from '../../sql/copy-statement.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { contentDisposition } from '../middleware/content-disposition.ts'
import { readContentEncoding } from '../middleware/content-encoding.ts'
import { clientWait } from '../middleware/download/client-wait.ts'
import {
  filenameOf,
  type Parameters,
  parametersOf,
  textOf,
  wholeOf,
  withoutEmpty,
} from '../middleware/parameters.ts'
import { sendContinue } from './expect-continue.ts'
import type { FileHeaders } from './file-download.ts'
import { readLoadOptions } from './load-options.ts'
import { readStart } from './read-start.ts'
import { maxSqlBytes } from './schemas.ts'

export type UploadRequest = Readonly<{ statement: CopyStatement; upload: Upload; options: LoadOptions }>

/** The statement of an upload is in the query string, as the body is the data; or the body begins with it. */
export async function readUploadRequest(
  config: Config,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<UploadRequest> {
  const parameters = request.query as Parameters
  const options = readLoadOptions(parameters)
  const sqlBytes = wholeOf(parameters, 'sql_bytes', 1, maxSqlBytes)
  if (sqlBytes !== undefined) return { ...(await readSqlFirst(config, request, reply, sqlBytes)), options }
  if (Object.hasOwn(parameters, 'data_encoding')) throw errors.badRequest(encodingOfWhole)
  const statement = readStatement(parameters, 'from')
  const encoding = readContentEncoding(request.headers['content-encoding'])
  return { statement, upload: uploadOf(config, request, reply, encoding), options }
}

async function readSqlFirst(
  config: Config,
  request: FastifyRequest,
  reply: FastifyReply,
  sqlBytes: number,
): Promise<Omit<UploadRequest, 'options'>> {
  const parameters = request.query as Parameters
  refuseParams(parameters)
  if (Object.hasOwn(parameters, 'q'))
    throw errors.badRequest('The SQL must be in q or in the body, not in both')
  if (readContentEncoding(request.headers['content-encoding'])) throw errors.badRequest(encodingOfData)
  const encoding = readContentEncoding(textOf(parameters, 'data_encoding'), 'data_encoding')
  const upload = uploadOf(config, request, reply, encoding, sqlBytes)
  const sql = await readStart(upload, sqlBytes, config.requestTimeoutMs)
  if (!isUtf8(sql)) throw errors.copyRefused('SQL must be UTF-8: check that sql_bytes is its length in bytes')
  return { statement: accept(parseLoad(sql.toString())), upload }
}

const encodingOfWhole = 'data_encoding needs sql_bytes. Without sql_bytes, use the header Content-Encoding'
const encodingOfData =
  'The SQL at the beginning of a body is not compressed: name the compression of the data in data_encoding, not in Content-Encoding'

function uploadOf(
  config: Config,
  request: FastifyRequest,
  reply: FastifyReply,
  encoding: ContentEncoding | null,
  sqlBytes = 0,
): Upload {
  refuseTransferCoding(request.headers['transfer-encoding'])
  if (Number(request.headers['content-length']) - sqlBytes > config.copyMaxBytes)
    throw tooLarge(config.copyMaxBytes)
  return {
    body: request.raw,
    encoding,
    begin: () => sendContinue(reply.raw),
    isComplete: () => request.raw.complete,
    wait: clientWait(reply.raw, config.copyIdleMs),
    gone: clientGone(reply),
  }
}

/** A load of a file that is here already: its parameters are those of copyfrom, its compression is in `data_encoding`. */
export function readStoredLoad(parameters: Parameters) {
  if (Object.hasOwn(parameters, 'sql_bytes'))
    throw errors.badRequest('sql_bytes does not go with an upload: the SQL must be in q')
  refuseParams(parameters)
  return {
    statement: accept(parseLoad(textOf(parameters, 'q') ?? '')),
    options: readLoadOptions(parameters),
    encoding: readContentEncoding(textOf(parameters, 'data_encoding'), 'data_encoding'),
  }
}

/** Node decodes only chunks: compressed data would be stored as it is. */
function refuseTransferCoding(coding: string | undefined): void {
  if (coding === undefined || /^\s*chunked\s*$/i.test(coding)) return
  throw errors.unsupportedMedia(
    'Transfer-Encoding can only be chunked: name the compression of the data in Content-Encoding',
  )
}

export function readDownload(request: FastifyRequest): { statement: CopyStatement; headers: FileHeaders } {
  const parameters = withoutEmpty(parametersOf(request))
  const statement = readStatement(parameters, 'to')
  const headers = {
    type: statement.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/octet-stream',
    disposition: contentDisposition(filenameOf(parameters) ?? 'carto-sql-copyto.dmp'),
  }
  return { statement, headers }
}

function readStatement(parameters: Parameters, direction: CopyDirection): CopyStatement {
  refuseParams(parameters)
  return accept(parseCopy(textOf(parameters, 'q') ?? '', direction))
}

/** Ignoring them could return other rows than intended. */
function refuseParams(parameters: Parameters): void {
  if (Object.hasOwn(parameters, 'params')) throw errors.paramsInvalid('A COPY has no params')
}

function accept(statement: CopyStatement | CopyRefusal): CopyStatement {
  if (statement.ok) return statement
  if (statement.code === 'unavailable') throw errors.parserUnavailable()
  throw errors.copyRefused(statement.message, statement.position)
}

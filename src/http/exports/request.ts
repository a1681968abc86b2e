import type { FastifyRequest } from 'fastify'
import { type SqlFormat, sqlFormats } from '../../contract/formats.ts'
import { defaultLinkSeconds, maxLinkDownloads, maxLinkSeconds } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import { oneSelect } from '../../sql/one-select.ts'
import { pageableStatement } from '../../sql/query-kind.ts'
import { filenameOf, isUuid, parametersOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'
import { choiceInAnyCase, sqlOf } from '../query/request.ts'

export type WantedExport = Readonly<{
  query: string
  format: SqlFormat
  filename: string | undefined
  seconds: number
  maxDownloads: number | undefined
}>

export function readExport(request: FastifyRequest): WantedExport {
  const parameters = withoutEmpty(parametersOf(request))
  const select = oneSelect(sqlOf(parameters))
  if (!select.ok) throw errors.badRequest(select.message ?? 'q must be one SELECT')
  // Everyone who has the link runs it, and some programs open links to look what is there.
  if (!pageableStatement(select.text)) throw errors.badRequest('q must be one SELECT that writes nothing')
  return {
    query: select.text,
    format: choiceInAnyCase(parameters, 'format', sqlFormats) ?? 'csv',
    filename: filenameOf(parameters),
    seconds: wholeOf(parameters, 'expires_in', 1, maxLinkSeconds) ?? defaultLinkSeconds,
    maxDownloads: wholeOf(parameters, 'max_downloads', 1, maxLinkDownloads),
  }
}

export function readExportId({ params }: FastifyRequest): string {
  const { exportId } = params as { exportId: string }
  if (!isUuid(exportId)) throw errors.exportNotFound()
  return exportId.toLowerCase()
}

import { join } from 'node:path'
import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import { checkOwnership } from '../../imports/check-rights.ts'
import { checkUrl } from '../../imports/download/download-file.ts'
import { isColumnKind, kindByName } from '../../imports/files/file-kinds.ts'
import { kindsInZip } from '../../imports/files/upload-files.ts'
import { type ImportSettings, type ImportSource, knownTable } from '../../imports/import-record.ts'
import { uploadedFile } from '../../imports/spool.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readImport } from './request.ts'

/** `folder`: where it is, once it was uploaded. */
type WantedFile = Readonly<{ name: string; bytes: number; folder?: string }>

/** An import as the client wants it, if this server can do it and the key may. `file`: what was, or will be uploaded. */
export async function wantedImport(
  services: Services,
  principal: Principal,
  parameters: Parameters,
  file: WantedFile | undefined,
): Promise<Readonly<{ source: ImportSource; options: ImportSettings }>> {
  const { source, options } = readImport(parameters, file && { name: file.name, bytes: file.bytes })
  if (source.type === 'url') checkSource(services, source.url)
  if (file) await refuseUnreadable(services, file)
  // Of other files the load itself checks each table.
  const table = knownTable(source, options)
  if (table !== undefined) await checkOwnership(services.databases, principal, table, options)
  return { source, options }
}

function checkSource({ config }: Services, url: string): void {
  if (!config.importUrls) throw errors.importsDisabled('Imports from a URL are')
  try {
    checkUrl(url)
  } catch (error) {
    throw errors.importInvalid((error as Error).message)
  }
}

/** Kinds that need GDAL or a sandbox, where they are not. */
async function refuseUnreadable({ imports }: Services, { name, folder }: WantedFile): Promise<void> {
  const isArchive = /\.zip$/i.test(name)
  const kind = kindByName(name.replace(/\.gz$/i, ''))
  if (!isArchive && (kind === undefined || kind === 'csv')) return
  const converter = await imports.converter()
  if (!('missing' in converter)) return
  const kinds = isArchive ? (folder ? await kindsInZip(join(folder, uploadedFile)) : []) : [kind!]
  const unreadable = kinds.find((each) => each !== 'csv' && !(isColumnKind(each) && converter.sandbox))
  if (unreadable !== undefined)
    throw errors.importsDisabled(
      `Imports of .${unreadable} files are not possible, as ${converter.missing}: they are`,
    )
}

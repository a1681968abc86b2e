import { createHash } from 'node:crypto'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Config } from '../../config/config.ts'
import { listPackageFolder, packageFile, readPackageFile } from '../../files/package-file.ts'
import { originsOfStyle } from './policy.ts'

/** A file of the console, plain and compressed. */
export type ConsoleFile = Readonly<{ type: string; etag: string; plain: Buffer; gzip: Buffer; br: Buffer }>
export type ConsoleFiles = Readonly<{
  index: ConsoleFile
  /** Undefined for a name that the build did not make. */
  asset: (name: string) => Promise<ConsoleFile | undefined>
}>

/** The console's files; undefined if it was not built. */
export function openConsoleFiles(config: PageConfig): Promise<ConsoleFiles | undefined> {
  return ifThere(async () => {
    const files = await listPackageFolder(join(folder(), 'assets'))
    const names = new Set(files.filter((name) => extname(name) in types))
    return { index: await readIndex(config), asset: keepingAssets(names) }
  })
}

/** Reads a file when it is first requested: a process whose console is not used does not need its megabytes. */
function keepingAssets(names: ReadonlySet<string>): ConsoleFiles['asset'] {
  const known = new Map<string, ConsoleFile>()
  return async (name) => {
    if (!names.has(name)) return undefined
    const file = known.get(name) ?? (await ifThere(() => readAsset(name)))
    if (file) known.set(name, file)
    return file
  }
}

async function ifThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  return read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** The page of a named map or a dashboard, to be filled in; undefined if the console was not built. */
export const readSharedPage = (what: 'map' | 'dashboard', config: PageConfig) =>
  ifThere(() => readPage(`${what}.html`, config))

export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)

type PageConfig = Pick<Config, 'publicUrl' | 'mapStyle' | 'mapStyleOrigins'>

/** The pages are the files that must know the service's path behind a proxy, and the operator's style of maps. */
async function readPage(name: string, config: PageConfig): Promise<string> {
  const text = (await readPackageFile(join(folder(), name))).toString('utf8')
  return text
    .replaceAll('"/console/', `"${pathPrefixOf(config)}/console/`)
    .replace('<!-- settings -->', () => styleTag(config))
}

const pathPrefixOf = ({ publicUrl }: PageConfig) =>
  publicUrl ? new URL(publicUrl).pathname.replace(/\/+$/, '') : ''

/** Read by `console/result/map/operator-style.ts`. */
function styleTag(config: PageConfig): string {
  if (!config.mapStyle) return ''
  const { light, dark } = config.mapStyle
  const origins = originsOfStyle(config).join(' ')
  return `<meta name="cartage-map-style" content="${escapeHtml(`${light} ${dark}`)}" data-origins="${escapeHtml(origins)}">`
}

/** The file name of the countries as GeoJSON; undefined if the console was not built. */
export async function findCountries(): Promise<string | undefined> {
  const names = await ifThere(() => listPackageFolder(join(folder(), 'assets')))
  return names?.find((name) => isPublicData(name) && name.startsWith('countries-'))
}

/** The console has no other data than that of Natural Earth and GeoNames. */
export const isPublicData = (name: string) => extname(name) === '.json'

const folder = () => packageFile('dist/console')

async function readAsset(name: string): Promise<ConsoleFile> {
  const read = (ending: string) => readPackageFile(join(folder(), 'assets', name + ending))
  const [plain, gzip, br] = await Promise.all([read(''), read('.gz'), read('.br')])
  return { type: types[extname(name)]!, etag: etagOf(plain), plain, gzip, br }
}

async function readIndex(config: PageConfig): Promise<ConsoleFile> {
  const plain = Buffer.from(await readPage('index.html', config))
  const type = 'text/html; charset=utf-8'
  // The best quality would take 16 ms of every start, to save 60 bytes.
  const br = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
  return { type, etag: etagOf(plain), plain, gzip: gzipSync(plain), br }
}

const etagOf = (bytes: Buffer) => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
}

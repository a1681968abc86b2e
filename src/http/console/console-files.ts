import { createHash } from 'node:crypto'
import { extname, join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { listPackageFolder, packageFile, readPackageFile } from '../../package-file.ts'

/** A file of the console in all its forms. */
export type ConsoleFile = Readonly<{ type: string; etag: string; plain: Buffer; gzip: Buffer; br: Buffer }>
export type ConsoleFiles = Readonly<{
  index: ConsoleFile
  /** Undefined for a name that the build has not made. */
  asset: (name: string) => Promise<ConsoleFile | undefined>
}>

/** What the build has made; undefined if nothing was. */
export function openConsoleFiles(pathPrefix: string): Promise<ConsoleFiles | undefined> {
  return ifThere(async () => {
    const files = await listPackageFolder(join(folder(), 'assets'))
    const names = new Set(files.filter((name) => extname(name) in types))
    return { index: await readIndex(pathPrefix), asset: keepingAssets(names) }
  })
}

/** Reads a file for the first who asks for it: a process whose console nobody opens has no use for its megabytes. */
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

const folder = () => packageFile('dist/console')

async function readAsset(name: string): Promise<ConsoleFile> {
  const read = (ending: string) => readPackageFile(join(folder(), 'assets', name + ending))
  const [plain, gzip, br] = await Promise.all([read(''), read('.gz'), read('.br')])
  return { type: types[extname(name)]!, etag: etagOf(plain), plain, gzip, br }
}

/** The one file that has to know under which path a proxy shows the service. */
async function readIndex(pathPrefix: string): Promise<ConsoleFile> {
  const text = (await readPackageFile(join(folder(), 'index.html'))).toString('utf8')
  const plain = Buffer.from(text.replaceAll('"/console/', `"${pathPrefix}/console/`))
  const type = 'text/html; charset=utf-8'
  return { type, etag: etagOf(plain), plain, gzip: gzipSync(plain), br: brotliCompressSync(plain) }
}

const etagOf = (bytes: Buffer) => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
}

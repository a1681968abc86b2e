import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { packageFile } from '../../package-file.ts'

/** A file of the console in all its forms. */
export type ConsoleFile = Readonly<{ type: string; etag: string; plain: Buffer; gzip: Buffer; br: Buffer }>
export type ConsoleFiles = Readonly<{ index: ConsoleFile; assets: ReadonlyMap<string, ConsoleFile> }>

/** Reads what the build has made into memory: a name that is not there is no file. Undefined if nothing was built. */
export async function readConsoleFiles(pathPrefix: string): Promise<ConsoleFiles | undefined> {
  try {
    const assets = new Map<string, ConsoleFile>()
    for (const name of await readdir(join(folder, 'assets'))) {
      if (extname(name) in types) assets.set(name, await readAsset(name))
    }
    return { index: await readIndex(pathPrefix), assets }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const folder = packageFile('dist/console')

async function readAsset(name: string): Promise<ConsoleFile> {
  const read = (ending: string) => readFile(join(folder, 'assets', name + ending))
  const [plain, gzip, br] = await Promise.all([read(''), read('.gz'), read('.br')])
  return { type: types[extname(name)]!, etag: etagOf(plain), plain, gzip, br }
}

/** The one file that has to know under which path a proxy shows the service. */
async function readIndex(pathPrefix: string): Promise<ConsoleFile> {
  const text = await readFile(join(folder, 'index.html'), 'utf8')
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

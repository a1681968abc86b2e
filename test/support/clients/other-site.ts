import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' }

/** A page of another origin than the service. Serves the files of clients under their names. */
export async function otherSite(
  t: TestContext,
  html: string,
  folderOf: (name: string) => string | undefined,
): Promise<string> {
  const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:">${html}`
  const server = createServer((request, response) => {
    const [, name = '', ...rest] = (request.url ?? '').split('?')[0]!.split('/')
    if (name === '') return response.setHeader('content-type', 'text/html').end(page)
    const folder = folderOf(name)
    if (!folder) return response.writeHead(404).end()
    response.setHeader('content-type', types[rest.at(-1)!.split('.').at(-1)!] ?? 'text/plain')
    return createReadStream(join(folder, ...rest))
      .on('error', () => response.destroy())
      .pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

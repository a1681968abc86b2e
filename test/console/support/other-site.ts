import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import type { TestContext } from 'node:test'

const packageFolder = join(import.meta.dirname, '../../../node_modules/maplibre-gl/dist')

/** Serves a page, and MapLibre from its package, at another origin than the service. Returns its address. */
export async function otherSite(t: TestContext, page: string): Promise<string> {
  const server = createServer((request, response) => {
    const file = basename((request.url ?? '').split('?')[0]!)
    if (file === '') return response.setHeader('content-type', 'text/html').end(page)
    response.setHeader('content-type', 'text/javascript')
    return createReadStream(join(packageFolder, file))
      .on('error', () => response.destroy())
      .pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

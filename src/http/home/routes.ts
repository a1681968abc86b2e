import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { baseUrlOf } from '../frame/address.ts'
import type { Services } from '../services.ts'

/** The first thing that somebody sees who opens the address: a page for a browser, a document for a program. */
export async function homeRoutes(app: FastifyInstance, { config }: Services): Promise<void> {
  const policy = `default-src 'none'; style-src '${hashOf(style)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    const base = baseUrlOf(request, config)
    reply.header('Vary', 'Accept')
    if (!request.headers.accept?.includes('text/html')) return homeDocument(base)
    return reply
      .type('text/html; charset=utf-8')
      .header('Content-Security-Policy', policy)
      .header('Referrer-Policy', 'no-referrer')
      .header('X-Content-Type-Options', 'nosniff')
      .send(homePage(base))
  })
}

function homeDocument(base: string) {
  return {
    name: 'Cartage',
    reference: `${base}/docs`,
    openapi: `${base}/openapi.json`,
    health: `${base}/health/ready`,
    accounts: `${base}/user/{name}`,
  }
}

const style = `
body { max-width: 44rem; margin: 3rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color-scheme: light dark }
pre { padding: .8rem 1rem; overflow-x: auto; background: #8882; border-radius: 4px }
dt { font-weight: 600 } dd { margin: 0 0 .6rem }`

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`

function homePage(base: string): string {
  const address = escapeHtml(base)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Cartage</title>
<style>${style}</style>
<h1>Cartage</h1>
<p>SQL over HTTP on PostgreSQL and PostGIS: API keys that are database roles, batch jobs, bulk COPY.
Tools that speak the classic Carto API work here: carto-python, cartoframes, GDAL, curl.</p>
<dl>
<dt><a href="/docs">/docs</a></dt><dd>the reference of the API, to read and to try out</dd>
<dt><a href="/openapi.json">/openapi.json</a></dt><dd>the same for programs</dd>
<dt><a href="/health/ready">/health/ready</a></dt><dd>whether it can serve</dd>
</dl>
<h2>A first request</h2>
<p>Your operator gives you a name and a key (<code>cartage user create NAME</code>, or <code>cartage user show NAME --key</code>).</p>
<pre>BASE=${address}/user/NAME
KEY=...
curl "$BASE/api/v2/sql" --data-urlencode "q=select postgis_version()" -d "api_key=$KEY"</pre>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

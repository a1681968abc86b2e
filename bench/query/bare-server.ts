import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'

// The baseline of the SQL endpoint: node:http and a pool, without authentication or clean-up. Run as: bare-server.ts
// CONNECTION_STRING CONNECTIONS
const [connectionString, connections] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: Number(connections) })

const server = createServer(async (request, response) => {
  const query = new URL(request.url ?? '', 'http://localhost').searchParams.get('q') ?? ''
  try {
    const { rows, rowCount } = await pool.query(query)
    const body = JSON.stringify({ rows, total_rows: rowCount })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  } catch (error) {
    response.writeHead(400).end(String(error))
  }
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))

import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'

// Only the cluster of a service: starts it, prints its address, and lives until it is killed.
const [dataDir = ''] = process.argv.slice(2)
const cluster = await startEmbeddedCluster({ dataDir, log: createLog('silent'), settings: { fsync: 'off' } })
console.log(JSON.stringify({ url: cluster.url, pid: cluster.pid }))
setInterval(() => undefined, 60_000)

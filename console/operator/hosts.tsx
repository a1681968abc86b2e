import type { HostVerdict } from '../../src/contract/health-names.ts'
import { listHosts, readReadiness } from '../api/operator.ts'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Table } from '../parts/table.tsx'

export function HostsPage() {
  const hosts = useLoaded(listHosts, [])
  const readiness = useLoaded(readReadiness, [])
  return (
    <>
      <h1>Hosts</h1>
      <p class="muted">
        The PostgreSQL clusters that hold the databases of users. An address contains a password, so add hosts
        on the server: <code>cartage host add NAME</code>.
      </p>
      <Load from={hosts}>
        {(found) => (
          <Table label="Hosts" head={['Name', 'Reachable', 'Address', 'Databases']}>
            {found.map(({ name, address, databases }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  <Reachable verdict={readiness.value?.hosts[name]} />
                </td>
                <td class="mono">{address}</td>
                <td class="number">{formatCount(databases)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Load>
    </>
  )
}

function Reachable({ verdict }: Readonly<{ verdict: HostVerdict | undefined }>) {
  if (verdict === undefined) return <>…</>
  if (verdict === 'standby') return <span class="badge error">standby</span>
  return verdict === 'ok' ? <span class="badge good">yes</span> : <span class="badge error">no</span>
}

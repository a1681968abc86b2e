import { useState } from 'preact/hooks'
import type { DashboardDocument } from '../../src/contract/dashboards.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ShownDashboard } from '../result/shown-dashboard/shown-dashboard.tsx'
import { pathOfDashboard, readDashboard } from './dashboards-api.ts'
import { ShareDialog } from './share-dialog.tsx'

export function OpenDashboard({ name }: Readonly<{ name: string }>) {
  const dashboard = useLoaded((signal) => readDashboard(name, signal), [session.value, name])
  return (
    <div class="page">
      <div class="dashboard-page">
        <Load from={dashboard}>{(found) => <Opened dashboard={found} changed={dashboard.reload} />}</Load>
      </div>
    </div>
  )
}

type OpenedProps = Readonly<{ dashboard: DashboardDocument; changed: () => void }>

function Opened({ dashboard, changed }: OpenedProps) {
  const [isSharing, share] = useState(false)
  const { name, title, description, public: isPublic } = dashboard
  const edit = () => navigate(pathOfDashboard(name, 'edit'))
  return (
    <>
      <DashboardHead title={title}>
        {isPublic && <span class="badge">public</span>}
        <button type="button" onClick={() => share(true)}>
          Share
        </button>
        <button type="button" class="primary" onClick={edit}>
          Edit
        </button>
      </DashboardHead>
      {description && <p class="dashboard-about muted">{description}</p>}
      <ShownDashboard
        account={session.value?.username ?? ''}
        dashboard={dashboard}
        empty={
          <span>
            This dashboard has no parts yet.{' '}
            <a href={hrefOf(pathOfDashboard(name, 'edit'))}>Add a saved query</a>.
          </span>
        }
      />
      {isSharing && <ShareDialog dashboard={dashboard} changed={changed} close={() => share(false)} />}
    </>
  )
}

type HeadProps = Readonly<{ title: string; children?: preact.ComponentChildren }>

export function DashboardHead({ title, children }: HeadProps) {
  return (
    <div class="page-head">
      <div class="grow">
        <p class="small dashboard-path">
          <a href={hrefOf('/dashboards')}>Dashboards</a> /
        </p>
        <h1>{title}</h1>
      </div>
      {children}
    </div>
  )
}

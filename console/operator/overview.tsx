import type { ComponentChildren } from 'preact'
import type { CheckDocument } from '../../src/contract/documents.ts'
import { type HostsReadiness, readActivity, readReadiness, runDoctor } from '../api/operator.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { CheckTable } from './doctor.tsx'

/** The state of the service, and what needs attention. */
export function OverviewPage() {
  const readiness = useLoaded(readReadiness, [])
  const activity = useLoaded((signal) => readActivity(signal, 1), [])
  const checks = useLoaded(runDoctor, [])
  return (
    <>
      <h1>Overview</h1>
      <dl class="panel facts">
        <Fact name="Service">{readiness.value && <Ready of={readiness.value} />}</Fact>
        <Fact name="Processes">{processesIn(checks.value)}</Fact>
        <Fact name="Jobs running">
          {activity.value && activity.value.running.length + activity.value.left_out.running}
        </Fact>
        <Fact name="Users with waiting jobs">
          {activity.value && activity.value.waiting.length + activity.value.left_out.waiting}
        </Fact>
      </dl>
      <Load from={checks}>{(found) => <Findings checks={found} />}</Load>
    </>
  )
}

function Fact({ name, children }: Readonly<{ name: string; children: ComponentChildren }>) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children ?? '…'}</dd>
    </div>
  )
}

function Ready({ of: { status, hosts } }: Readonly<{ of: HostsReadiness }>) {
  const silent = Object.keys(hosts).filter((name) => hosts[name] !== 'ok')
  if (status !== 'ok') return <span class="badge error">not ready</span>
  if (silent.length > 0) return <span class="badge warning">not reachable: {silent.join(', ')}</span>
  return <span class="badge good">ready</span>
}

const processesIn = (checks: readonly CheckDocument[] | undefined) =>
  checks && (/^\d+/.exec(checks.find(({ name }) => name === 'processes')?.advice ?? '')?.[0] ?? '0')

function Findings({ checks }: Readonly<{ checks: readonly CheckDocument[] }>) {
  const found = checks.filter(({ status }) => status !== 'ok')
  const well = (
    <p>
      <a href={hrefOf('/operator/doctor')}>{plural(checks.length - found.length, 'check')}</a> passed.
    </p>
  )
  if (found.length === 0) return <Notice kind="good">{well}</Notice>
  return (
    <>
      <h2>Needs attention</h2>
      <CheckTable checks={found} />
      {well}
    </>
  )
}

import { CopyButton } from '../parts/controls/copy-button.tsx'
import { formatCount, formatDuration } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { type PlanLine, readPlan } from './plan.ts'
import type { Result } from './result.ts'

/** A plan as a table: each node with its estimated and actual rows and its self time. */
export function PlanView({ result }: Readonly<{ result: Result }>) {
  const state = result.state.value
  const plan = useLoaded(async () => {
    await result.ended
    if (result.error.value) throw result.error.value
    return readPlan((await result.ask('cell', { row: 0, column: 0 })) ?? '[]')
  }, [result])
  if (state === 'failed') return <ErrorNotice error={result.error.value} />
  return (
    <div class="result-view plan">
      <Load from={plan}>
        {({ lines, totalMs, planningMs, text }) => (
          <>
            <div class="row">
              <span class="small muted grow">
                {totalMs !== undefined && `Executed in ${formatDuration(totalMs)}. `}
                {planningMs !== undefined && `Planned in ${formatDuration(planningMs)}.`}
              </span>
              <CopyButton text={text} label="Copy as JSON" />
            </div>
            <PlanTable lines={lines} />
          </>
        )}
      </Load>
    </div>
  )
}

function PlanTable({ lines }: Readonly<{ lines: readonly PlanLine[] }>) {
  const isAnalyzed = lines.some(({ ownMs }) => ownMs !== undefined)
  return (
    <table class="list" aria-label="Plan">
      <thead>
        <tr>
          <th>Node</th>
          <th class="number">Cost</th>
          <th class="number">Estimated rows</th>
          {isAnalyzed && <th class="number">Actual rows</th>}
          {isAnalyzed && <th>Self time</th>}
          {isAnalyzed && <th class="number">Buffers</th>}
        </tr>
      </thead>
      <tbody>
        {lines.map((line, at) => (
          <tr key={at} class={line.isSlowest ? 'slowest' : undefined}>
            <td>
              <div style={{ paddingLeft: `${line.depth * 18}px` }}>
                {line.title} {line.isSlowest && <span class="badge warning">slowest</span>}{' '}
                {line.warnings.map((warning) => (
                  <span key={warning} class="badge warning">
                    {warning}
                  </span>
                ))}
                {line.detail && <div class="small muted mono">{line.detail}</div>}
              </div>
            </td>
            <td class="number">{formatCount(Math.round(line.cost))}</td>
            <td class="number">{formatCount(line.expectedRows)}</td>
            {isAnalyzed && (
              <td class="number">{line.actualRows === undefined ? '' : formatCount(line.actualRows)}</td>
            )}
            {isAnalyzed && (
              <td>
                <OwnTime line={line} />
              </td>
            )}
            {isAnalyzed && (
              <td class="number">{line.buffers === undefined ? '' : formatCount(line.buffers)}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function OwnTime({ line: { ownMs = 0, share = 0 } }: Readonly<{ line: PlanLine }>) {
  return (
    <div class="own-time">
      <span class="bar-of-time" style={{ width: `${Math.round(share * 100)}px` }} />
      {formatDuration(ownMs)}
    </div>
  )
}

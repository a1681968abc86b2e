import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { gridColumns } from '../../../src/contract/dashboards.ts'
import { Skeleton } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import type { ChangeChart } from './drawn-part.ts'
import { PartContent } from './part-content.tsx'
import type { PartSource } from './read-part.ts'
import { usePart } from './use-part.ts'

type ShownPartProps = PartSource &
  Readonly<{
    /** Read again when this changes. */
    round: number
    /** Shown beside the title: ways to change the part. */
    acts?: ComponentChildren
    changeChart?: ChangeChart | undefined
  }>

export const titleOf = ({ title, query }: PartSource['part']) => title || query

/** A part of a dashboard: its title, and its rows or the error. */
export function ShownPart({ round, acts, changeChart, ...source }: ShownPartProps) {
  const { part } = source
  const [again, setAgain] = useState(0)
  const { found, error, isLoading } = usePart(source, round + again)
  const label = titleOf(part)
  const { x, y, w, h } = part
  const content = found?.kind === kindOf(part.as) ? found : undefined
  return (
    <section
      class={`part part-as-${part.as}`}
      aria-label={label}
      aria-busy={isLoading}
      style={{ '--x': x + 1, '--y': y + 1, '--w': w, '--h': h, '--order': y * gridColumns + x }}
    >
      <div class="part-head">
        <h2>{label}</h2>
        {isLoading && found && <span class="part-loading" title="Loading" />}
        {acts}
      </div>
      <div class="part-body">
        {error !== undefined && (
          <ErrorNotice
            error={error}
            acts={
              <button type="button" onClick={() => setAgain(again + 1)}>
                Try again
              </button>
            }
          />
        )}
        {error === undefined && !content && <Skeleton lines={Math.min(6, 2 * h)} />}
        {content && (
          // After an error too, hidden: the order of a table and the place of a map are there when the rows are.
          <div class="part-content" hidden={error !== undefined}>
            <PartContent part={part} found={content} label={label} changeChart={changeChart} />
          </div>
        )}
      </div>
    </section>
  )
}

/** Rows read for one kind of view cannot be used for another. */
const kindOf = (as: PartSource['part']['as']) => (as === 'map' || as === 'chart' ? 'result' : 'rows')

import { type Catalog, catalog, unreadCatalog } from '../api/catalog.ts'
import { session } from '../api/session.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { loadSample } from '../parts/browser/sample.ts'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { addDraft, currentDraft } from './drafts.ts'
import { currentRunAs } from './run-as.ts'
import { runOrAsk } from './runs.ts'

/** Before the first result: where to begin in a new account, or examples for the sample data. */
export function Begin() {
  const isNew = catalog.value !== unreadCatalog && catalog.value.tables.length === 0
  if (isNew) return <FirstSteps />
  if (hasSample(catalog.value)) return <Examples />
  return (
    <Empty>
      <p>Results appear here, row by row.</p>
    </Empty>
  )
}

function FirstSteps() {
  const { isBusy, error, begin } = useWork()
  if (session.value?.token === null) {
    return (
      <Empty>
        <p>Results appear here. This account has no public tables.</p>
      </Empty>
    )
  }
  return (
    <div class="begin">
      <h2>Where to begin</h2>
      <p class="muted">No tables yet. Results appear here, row by row.</p>
      <ol>
        <li>
          <strong>Upload a file.</strong> Drop a CSV, TSV or GeoJSON file on this page, or{' '}
          <a href={hrefOf('/upload')}>choose a file</a>.
        </li>
        <li>
          <strong>Or load sample data:</strong> the 177 countries of the world, with their borders.{' '}
          <button type="button" class="primary" disabled={isBusy} onClick={() => void begin(loadSample)}>
            Load sample data
          </button>
        </li>
        <li>
          <strong>Or write CREATE TABLE above</strong> and press <kbd>Ctrl+Enter</kbd>.
        </li>
      </ol>
      <p>
        The <a href={hrefOf('/guide')}>guide</a> has a tutorial and explains every page.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
    </div>
  )
}

function Examples() {
  return (
    <div class="begin">
      <h2>Examples for the table countries</h2>
      <ul>
        {sampleQueries.map(({ title, draft, text }) => (
          <li key={title}>
            <button type="button" aria-label={`Run: ${title}`} onClick={() => runExample(draft, text)}>
              ▶ Run
            </button>
            <strong> {title}</strong>
            <pre>{text}</pre>
          </li>
        ))}
      </ul>
      <p class="muted small">Each opens in a new draft. The map is in the tab Map above the result.</p>
    </div>
  )
}

function runExample(draft: string, text: string): void {
  addDraft(text, draft)
  const statements = [{ text, from: 0, to: text.length }]
  void runOrAsk({ draftId: currentDraft.value!.id, statements, as: currentRunAs() })
}

/** Whether the table of the sample data exists. */
const hasSample = ({ tables, searchPath: [first] }: Catalog) =>
  tables.some(
    ({ schema, name, columns }) =>
      schema === first &&
      name === 'countries' &&
      ['name', 'area_km2', 'the_geom'].every((wanted) => columns.some((column) => column.name === wanted)),
  )

const sampleQueries: readonly Readonly<{ title: string; draft: string; text: string }>[] = [
  {
    title: 'The largest countries',
    draft: 'largest',
    text: `SELECT name, area_km2
FROM countries
ORDER BY area_km2 DESC
LIMIT 10`,
  },
  {
    title: 'The neighbours of Germany, for the map',
    draft: 'neighbours',
    text: `SELECT neighbour.name, neighbour.the_geom
FROM countries AS germany
JOIN countries AS neighbour ON ST_Intersects(germany.the_geom, neighbour.the_geom)
WHERE germany.name = 'Germany' AND neighbour.name <> 'Germany'`,
  },
  {
    title: 'How far every country is from Nairobi, in km',
    draft: 'distances',
    text: `SELECT name, the_geom,
  round(ST_Distance(the_geom::geography, 'POINT(36.82 -1.29)'::geography) / 1000) AS km
FROM countries
ORDER BY km`,
  },
]

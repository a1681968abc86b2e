import { Menu, type MenuItem } from '../parts/controls/menu.tsx'
import { addDraft, chooseDraft, closeDraft, currentId, drafts } from './drafts.ts'
import { chosenKey, currentRunAs, missingKey, otherKeys, ownKey } from './run-as.ts'
import { isRunning, stopRunning } from './runs.ts'
import { isSchemaShown, showSchema } from './schema/sidebar.tsx'

type ToolbarProps = Readonly<{ runCurrent: () => void; runAll: () => void; more: readonly MenuItem[] }>

export function Toolbar({ runCurrent, runAll, more }: ToolbarProps) {
  return (
    <div class="sql-bar">
      <button
        type="button"
        class="quiet"
        aria-pressed={isSchemaShown()}
        title="Tables, columns and functions (Alt+S)"
        onClick={() => showSchema(!isSchemaShown())}
      >
        Schema
      </button>
      <DraftTabs />
      <span class="grow" />
      <RunAsMenu />
      <button type="button" class="primary" title="Ctrl+Enter" onClick={runCurrent}>
        ▶ Run
      </button>
      <button type="button" title="Ctrl+Shift+Enter" onClick={runAll}>
        ▶▶ Run all
      </button>
      <button type="button" class="danger" disabled={!isRunning.value} title="Ctrl+." onClick={stopRunning}>
        ◼ Stop
      </button>
      <Menu label="⋯" title="More" className="square" items={more} />
    </div>
  )
}

function DraftTabs() {
  return (
    <div class="drafts">
      {drafts.value.map(({ id, name }) => (
        <span key={id} class={`draft ${id === currentId.value ? 'current' : ''}`}>
          <button
            type="button"
            class="quiet"
            aria-current={id === currentId.value ? 'true' : undefined}
            onClick={() => chooseDraft(id)}
          >
            {name}
          </button>
          {drafts.value.length > 1 && (
            <button
              type="button"
              class="quiet square"
              aria-label={`Close ${name}`}
              onClick={() => closeDraft(id)}
            >
              ✕
            </button>
          )}
        </span>
      ))}
      <button
        type="button"
        class="quiet square"
        aria-label="New draft"
        title="New draft (Alt+N)"
        onClick={() => addDraft('')}
      >
        +
      </button>
    </div>
  )
}

function RunAsMenu() {
  const label = missingKey.value?.name ?? currentRunAs().label
  const own = ownKey()
  const choose = (key: typeof chosenKey.value) => () => {
    chosenKey.value = key
    missingKey.value = undefined
  }
  return (
    <Menu
      label={<>Run as {label} ▾</>}
      title={`Run as ${label}`}
      className="quiet"
      items={[
        { note: 'Runs statements with the token of another key.' },
        {
          label: own.label,
          isOn: chosenKey.value === undefined && !missingKey.value,
          run: choose(undefined),
        },
        ...otherKeys.value.map((key) => ({
          label: key.label,
          isOn: chosenKey.value === key,
          run: choose(key),
        })),
      ]}
    />
  )
}

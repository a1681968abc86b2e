import { useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import type { EditorProps } from './editor.tsx'

type EditorCode = typeof import('./editor.tsx')
let loaded: EditorCode | undefined

async function loadEditor(): Promise<EditorCode> {
  loaded = await import('./editor.tsx')
  return loaded
}

// Starts with the page: CodeMirror is larger than the rest of it. An error is shown when the editor is needed.
loadEditor().catch(() => undefined)

/** The editor, once its code is loaded. The page is drawn before. */
export function LazyEditor(props: EditorProps) {
  const { value: code = loaded, error, reload } = useLoaded(loadEditor, [])
  if (code) return <code.Editor {...props} />
  return (
    <div class="editor">
      {error !== undefined && (
        <ErrorNotice
          error={error}
          title="The editor could not be loaded."
          acts={
            <button type="button" onClick={reload}>
              Try again
            </button>
          }
        />
      )}
    </div>
  )
}

import { useEffect, useId, useRef, useState } from 'react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Search } from '../app/search.js';

export type Filter =
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly label: string;
      readonly hint?: string;
      /** Offered while typing; other text may be typed as well. */
      readonly suggestions?: readonly string[];
    }
  | { readonly kind: 'date'; readonly name: string; readonly label: string }
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly label: string;
      /** Value and word. */
      readonly options: ReadonlyArray<readonly [value: string, word: string]>;
      /** The word of no choice, which comes first; "All" by default. */
      readonly first?: string;
    };

/** Options of a filter that may have a value which none of them has: a link may name a reason that is gone. */
export function optionsWith(
  value: string | undefined,
  known: readonly string[],
): ReadonlyArray<readonly [value: string, word: string]> {
  const all = value === undefined || known.includes(value) ? known : [value, ...known];
  return all.map((one) => [one, one] as const);
}

// A person types about five letters a second. The search begins when they pause.
const TYPING_PAUSE_MS = 250;

/** Filters of a page, kept in the search parameters of the same names, so that the address is a link to what is shown. */
export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (name: string, value: string) =>
    void navigate({
      to: '.',
      search: (before: Search) => ({ ...before, [name]: value || undefined }),
      replace: true,
      resetScroll: false,
    });
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {filters.map((filter) => (
        <label key={filter.name}>
          {filter.label}
          {filter.kind === 'text' ? (
            <SearchField
              hint={filter.hint}
              suggestions={filter.suggestions}
              value={search[filter.name] ?? ''}
              onChange={(value) => change(filter.name, value)}
            />
          ) : filter.kind === 'date' ? (
            <input
              type="date"
              value={search[filter.name] ?? ''}
              onChange={({ target }) => change(filter.name, target.value)}
            />
          ) : (
            <select
              value={search[filter.name] ?? ''}
              onChange={({ target }) => change(filter.name, target.value)}
            >
              <option value="">{filter.first ?? 'All'}</option>
              {filter.options.map(([value, word]) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
            </select>
          )}
        </label>
      ))}
    </form>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly hint?: string;
  readonly suggestions?: readonly string[];
  readonly onChange: (value: string) => void;
}

/** Sends what is typed after a pause. It takes over a value from outside, such as by the back button, but not the echo of its own. */
function SearchField({ value, hint, suggestions, onChange }: SearchFieldProps) {
  const list = useId();
  const [typed, setTyped] = useState(value);
  const [seen, setSeen] = useState(value);
  const [sent, setSent] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (value !== seen) {
    setSeen(value);
    if (value !== sent) setTyped(value);
  }

  function type(text: string): void {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setSent(text.trim());
      onChange(text.trim());
    }, TYPING_PAUSE_MS);
  }

  return (
    <>
      <input
        type="search"
        value={typed}
        placeholder={hint}
        list={suggestions && list}
        spellCheck={false}
        onChange={({ target }) => type(target.value)}
      />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </>
  );
}

import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import {
  type ColumnDef,
  createSortedRowModel,
  type Header,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type Paging } from '../app/paged.js';
import { useNarrow } from './use-narrow.js';

/** One column. Columns must keep their identity between renders: define them outside the component or in useMemo. */
export interface Column<Item> {
  readonly id: string;
  readonly header: string;
  readonly cell: (item: Item) => ReactNode;
  /** If set, a click on the header sorts the loaded rows by this value. */
  readonly sortBy?: (item: Item) => string | number | null;
  /** In pixels. Columns without a width share the rest. */
  readonly width?: number;
  /** `end` for numbers, so that their digits stand below each other. */
  readonly align?: 'start' | 'end';
  /** On a narrow screen, the cell stands on the second line of its row. */
  readonly isSecondary?: boolean;
  /** On the second line, the header stands before the value, because the value alone would not say what it is. Implies `isWhole`. */
  readonly isNamed?: boolean;
  /** On the second line, this cell is never shortened; a longer cell is. */
  readonly isWhole?: boolean;
  /** Left out on a narrow screen. */
  readonly isWideOnly?: boolean;
}

interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly change: (ids: ReadonlySet<string>) => void;
}

interface TableProps<Item> {
  readonly label: string;
  readonly columns: ReadonlyArray<Column<Item>>;
  readonly rows: readonly Item[];
  readonly rowId: (item: Item) => string;
  /** A click on a row or Enter opens it. One cell should also be a link to the same place. */
  readonly onOpen?: (item: Item) => void;
  /** Adds a column of checkboxes; Space selects the current row. */
  readonly selection?: Selection;
  /** From usePaged, if the API answers page by page. */
  readonly paging?: Paging;
  /** In place of the rows if there are none. */
  readonly empty: ReactNode;
}

// As in parts.css. A row with a second line is higher.
const ROW_HEIGHT = 38;
const TWO_LINES_HEIGHT = 58;
// A screen of 2,160 px shows 57 rows. With these on both sides, fewer than 100 are in the document. A jump renders all of them anew, so that
// each row counts: 850 px show 17.
const OVERSCAN = 5;
const PAGE_STEP = 10;
const LOAD_BEFORE_END = 20;

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
type Features = typeof FEATURES;

/** A table of any length that keeps only the visible rows in the document. Arrow keys move the current row, whose id the table announces. */
export function Table<Item extends object>(props: TableProps<Item>) {
  const { label, columns: allColumns, rows, rowId, onOpen, selection, paging, empty } = props;
  const isNarrow = useNarrow();
  const { columns, below } = useMemo(() => linesOf(allColumns, isNarrow), [allColumns, isNarrow]);
  const rowHeight = below.length > 0 ? TWO_LINES_HEIGHT : ROW_HEIGHT;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(-1);
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const table = useTable({ features: FEATURES, columns: definitions, data: rows, getRowId: rowId });
  const shown = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => shown[index]?.id ?? index,
    overscan: OVERSCAN,
  });
  useEffect(() => virtual.measure(), [virtual, rowHeight]);
  const inView = virtual.getVirtualItems();
  const lastInView = inView.at(-1)?.index ?? -1;
  useEffect(() => {
    if (paging?.hasMore && !paging.isLoading && lastInView >= rows.length - LOAD_BEFORE_END) paging.load();
  }, [paging, lastInView, rows.length]);

  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== event.currentTarget) return;
    const item = shown[current];
    const next = nextIndex(event.key, current, shown.length);
    if (next !== undefined) {
      setCurrent(next);
      virtual.scrollToIndex(next);
    } else if (event.key === 'Enter' && item) onOpen?.(item.original);
    else if (event.key === ' ' && item && selection) toggle(selection, [item.id]);
    else return;
    event.preventDefault();
  }

  if (rows.length === 0) return empty;
  const before = inView[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (inView.at(-1)?.end ?? 0);
  return (
    <>
      {paging?.isOld && (
        <p className="table-news" role="status">
          This list has changed.{' '}
          <button type="button" className="button-link" onClick={() => void paging.restart()}>
            Show it from the beginning
          </button>
        </p>
      )}
      <div className="table-scroll" ref={scroller}>
        <table
          className={below.length > 0 ? 'table has-two-lines' : 'table'}
          role="grid"
          aria-label={label}
          aria-rowcount={paging?.hasMore ? -1 : shown.length + 1}
          aria-activedescendant={
            inView.some(({ index }) => index === current) ? `${id}-${current}` : undefined
          }
          tabIndex={0}
          onKeyDown={onKeyDown}
        >
          <colgroup>
            {selection && <col className="table-tick" />}
            {columns.map((column) => (
              <col key={column.id} style={column.width ? { width: column.width } : undefined} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {selection && <SelectAll selection={selection} ids={shown.map((row) => row.id)} />}
              {table.getHeaderGroups()[0]?.headers.map((header, index) => (
                <HeaderCell key={header.id} header={header} column={columns[index]} />
              ))}
            </tr>
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden="true" className="spacer" style={{ height: before }} />}
            {inView.map(({ index }) => {
              const row = shown[index];
              return (
                row && (
                  <BodyRow
                    key={row.id}
                    domId={`${id}-${index}`}
                    id={row.id}
                    item={row.original}
                    index={index}
                    columns={columns}
                    below={below}
                    isCurrent={index === current}
                    isSelected={selection?.ids.has(row.id)}
                    selection={selection}
                    onOpen={onOpen}
                    onCurrent={setCurrent}
                  />
                )
              );
            })}
            {after > 0 && <tr aria-hidden="true" className="spacer" style={{ height: after }} />}
          </tbody>
        </table>
        {paging?.isLoading && <p className="table-more">Loading more…</p>}
      </div>
    </>
  );
}

interface Lines<Item> {
  readonly columns: ReadonlyArray<Column<Item>>;
  /** The columns whose cells stand below the others. */
  readonly below: ReadonlyArray<Column<Item>>;
}

function linesOf<Item>(columns: ReadonlyArray<Column<Item>>, isNarrow: boolean): Lines<Item> {
  if (!isNarrow) return { columns, below: [] };
  const shown = columns.filter(({ isWideOnly = false }) => !isWideOnly);
  return {
    columns: shown.filter(({ isSecondary = false }) => !isSecondary),
    below: shown.filter(({ isSecondary = false }) => isSecondary),
  };
}

function definitionOf<Item extends object>(column: Column<Item>): ColumnDef<Features, Item> {
  return {
    id: column.id,
    header: column.header,
    // An absent value is undefined for the library, which puts it last in both directions.
    accessorFn: (item) => column.sortBy?.(item) ?? undefined,
    enableSorting: column.sortBy !== undefined,
    sortFn: (a, b, id) => compare(a.getValue(id), b.getValue(id)),
    sortUndefined: 'last',
  };
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

function nextIndex(key: string, current: number, count: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: current + PAGE_STEP,
    PageUp: current - PAGE_STEP,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.min(Math.max(next, 0), count - 1);
}

interface HeaderCellProps<Item extends object> {
  readonly header: Header<Features, Item>;
  readonly column: Column<Item> | undefined;
}

function HeaderCell<Item extends object>({ header, column }: HeaderCellProps<Item>) {
  const direction = header.column.getIsSorted();
  const className = classOf(column);
  if (!column?.sortBy) return <th className={className}>{column?.header}</th>;
  return (
    <th className={className} aria-sort={direction ? `${direction}ending` : 'none'}>
      <button type="button" onClick={header.column.getToggleSortingHandler()}>
        {column.header}
        <span aria-hidden="true" className={`sort sort-${direction || 'none'}`} />
      </button>
    </th>
  );
}

interface BodyRowProps<Item> {
  readonly domId: string;
  readonly id: string;
  readonly item: Item;
  readonly index: number;
  readonly columns: ReadonlyArray<Column<Item>>;
  readonly below: ReadonlyArray<Column<Item>>;
  readonly isCurrent: boolean;
  readonly isSelected: boolean | undefined;
  readonly selection: Selection | undefined;
  readonly onOpen: ((item: Item) => void) | undefined;
  readonly onCurrent: (index: number) => void;
}

/** Scrolling renders the table at each step; rows that stay are not rendered again. */
function PlainBodyRow<Item extends object>(props: BodyRowProps<Item>) {
  const { domId, id, item, index, columns, below, isCurrent, isSelected, selection, onOpen, onCurrent } =
    props;
  function onClick(event: MouseEvent<HTMLElement>): void {
    if ((event.target as Element).closest('a, button, input, label')) return;
    if (window.getSelection()?.toString()) return;
    onCurrent(index);
    onOpen?.(item);
  }
  return (
    <tr
      id={domId}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={`${isCurrent ? 'current' : ''} ${onOpen ? 'opens' : ''}`}
      onClick={onClick}
    >
      {selection && (
        <td>
          <input
            type="checkbox"
            aria-label={`Select row ${index + 1}`}
            checked={isSelected}
            onChange={() => toggle(selection, [id])}
          />
        </td>
      )}
      {columns.map((column, place) => (
        <td key={column.id} className={classOf(column)}>
          {column.cell(item)}
          {place === 0 && below.length > 0 && <SecondLine item={item} columns={below} />}
        </td>
      ))}
    </tr>
  );
}

/** It is in the first cell and as wide as the row. */
function SecondLine<Item>({
  item,
  columns,
}: {
  readonly item: Item;
  readonly columns: ReadonlyArray<Column<Item>>;
}) {
  return (
    <div className="second-line">
      {columns.map(({ id, header, isNamed = false, isWhole = isNamed, cell }) => (
        <span key={id} className={isWhole ? 'is-whole' : undefined}>
          {isNamed && <small>{header} </small>}
          {cell(item)}
        </span>
      ))}
    </div>
  );
}

const BodyRow = memo(PlainBodyRow) as typeof PlainBodyRow;

function SelectAll({ selection, ids }: { readonly selection: Selection; readonly ids: readonly string[] }) {
  const areAll = ids.every((id) => selection.ids.has(id));
  return (
    <th>
      <input
        type="checkbox"
        aria-label="Select all loaded rows"
        checked={areAll}
        onChange={() => selection.change(areAll ? new Set() : new Set(ids))}
      />
    </th>
  );
}

function toggle({ ids, change }: Selection, toggled: readonly string[]): void {
  const next = new Set(ids);
  for (const id of toggled) if (!next.delete(id)) next.add(id);
  change(next);
}

function classOf(column: { readonly align?: 'start' | 'end' } | undefined): string | undefined {
  return column?.align === 'end' ? 'end' : undefined;
}

import { type ReactNode } from 'react';

/** One column of a short table. */
export interface Figure<Row> {
  readonly header: string;
  readonly cell: (row: Row, index: number) => ReactNode;
  /** On a narrow screen it stands with its name on the second line of the row. Three columns beside the first one have place there. */
  readonly isMinor?: boolean;
}

interface FiguresProps<Row> {
  readonly label: string;
  /** The first column names the row. */
  readonly columns: ReadonlyArray<Figure<Row>>;
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row, index: number) => string | number;
  /** Keeps the distance of a card's edges, in a card whose content reaches them. */
  readonly isInset?: boolean;
}

const classOf = ({ isMinor = false }: { readonly isMinor?: boolean }) => (isMinor ? 'minor' : undefined);

/** A short table of numbers, all of whose rows are in the document. The roles are named, because a table that is laid out as a grid loses them. */
export function Figures<Row>({ label, columns, rows, rowKey, isInset = false }: FiguresProps<Row>) {
  return (
    <div
      className={isInset ? 'figures-scroll figures-inset' : 'figures-scroll'}
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      <table className="figures" role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.header} role="columnheader" scope="col" className={classOf(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)} role="row">
              {columns.map((column, place) =>
                place === 0 ? (
                  <th key={column.header} role="rowheader" scope="row">
                    {column.cell(row, index)}
                  </th>
                ) : (
                  <td key={column.header} role="cell" className={classOf(column)} data-label={column.header}>
                    {column.cell(row, index)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

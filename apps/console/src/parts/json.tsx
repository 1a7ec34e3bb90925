/** A value as the API sent it: text as it is, anything else as indented JSON. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <pre className="json" tabIndex={0} aria-label={label}>
      {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
    </pre>
  );
}

/** As a database would keep it and give it back: what is no JSON is gone. */
export function copy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

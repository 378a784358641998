// Package bench runs the tables of docs/benchmarks: what is run is a list of
// cases, what comes back are values, which a Grid shows as text or Markdown.
//
// A claim is a ratio: ours and the peer's in one run, interleaved, medians.
package bench

package opensm

import "fmt"

// Fault is a line that could not be used, or an option that has no effect.
type Fault struct {
	File string // its name, may be empty
	Line int    // from 1
	Text string
}

// Error gives the place and the text: "guid2lid:3: ...".
func (f Fault) Error() string {
	if f.File == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// faults gathers those of a file.
type faults struct {
	file string
	list []Fault
}

func (f *faults) report(line int, format string, args ...any) {
	f.list = append(f.list, Fault{f.file, line, fmt.Sprintf(format, args...)})
}

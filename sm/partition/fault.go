package partition

import "fmt"

// Fault is something in a file that could not be used, or that is probably not
// what was meant.
type Fault struct {
	Name string // of the file, may be empty
	// Line and Column begin at 1; Column counts bytes.
	Line, Column int
	Text         string
}

// Error gives the place and the text: "partitions.conf:3:14: no P_Key".
func (f Fault) Error() string {
	place := fmt.Sprintf("%d:%d: ", f.Line, f.Column)
	if f.Name != "" {
		place = f.Name + ":" + place
	}
	return place + f.Text
}

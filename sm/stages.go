package sm

import (
	"fmt"
	"log/slog"
	"time"
)

// Stages are the parts of what a manager does for groups.
type Stages struct {
	// Routing is the time of laying trees, Planning that of finding the order in
	// which the switches may change their tables.
	Routing, Planning time.Duration
	// Reading is the time until switches had told what blocks of their multicast
	// tables hold, of which that was not known, and Ahead that of what was read
	// before it was needed; Writing is the time until all Sets were answered.
	Reading, Ahead, Writing time.Duration
	// Read counts the blocks that were asked for, Written the Sets.
	Read, Written int
}

// minus is what came to the stages since they were as before.
func (s Stages) minus(before Stages) Stages {
	return Stages{
		Routing: s.Routing - before.Routing, Planning: s.Planning - before.Planning,
		Reading: s.Reading - before.Reading, Ahead: s.Ahead - before.Ahead, Writing: s.Writing - before.Writing,
		Read: s.Read - before.Read, Written: s.Written - before.Written,
	}
}

// timed adds the time until it is called to one of the stages.
func timed(stage *time.Duration) (end func()) {
	start := time.Now()
	return func() { *stage += time.Since(start) }
}

// attributes are for a line of the log.
func (s Stages) attributes() []any {
	return []any{
		"read", s.Read, "sent", s.Written,
		slog.Duration("routing", s.Routing), slog.Duration("planning", s.Planning),
		slog.Duration("reading", s.Reading), slog.Duration("writing", s.Writing),
	}
}

// String tells of the stages in one line.
func (s Stages) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("routing %v, planning %v, reading %d blocks %v, writing %d %v",
		round(s.Routing), round(s.Planning), s.Read, round(s.Reading), s.Written, round(s.Writing))
}

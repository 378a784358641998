package election

import (
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Config is what a manager is, and how patient. The zero durations and counts
// stand for the defaults.
type Config struct {
	// GUID is that of the manager's port.
	GUID ib.GUID
	// Priority is from 0 to 15, the highest wins.
	Priority uint8
	// Key is the SM_Key; managers trust those that have the same.
	Key mad.SMKey
	// Poll is how often a standby manager asks the master, 1 s by default,
	// and how often a master asks those that may be better. After Count polls
	// in a row without an answer, 4 by default, the other counts as dead: a
	// standby discovers the subnet no later than Poll x (Count+1) after its
	// master died.
	Poll  time.Duration
	Count int
	// Still is after how many polls a manager that answers counts as dead all
	// the same, as its ActCount did not grow: 10 by default. It is more than
	// Count, as some managers count only what they send, in sweeps that are
	// seconds apart.
	Still int
	// AnswerLimit is when an Ask or a Tell counts as not answered if nothing is
	// heard of it, 3 s by default. The one who sends has limits of its own.
	AnswerLimit time.Duration
	// Settle is how long the master of a subnet is in office before its death
	// is no flapping, 60 s by default, and how long a master may be writing
	// before it hands over in the midst of it.
	Settle time.Duration
	// Hold is for how long a better manager that flapped, or that could not
	// take over, is not handed the subnet: 10 s by default, doubled each time
	// up to HoldMax, 5 minutes by default.
	Hold, HoldMax time.Duration
}

const (
	defaultPoll        = time.Second
	defaultCount       = 4
	defaultStill       = 10
	defaultAnswerLimit = 3 * time.Second
	defaultSettle      = time.Minute
	defaultHold        = 10 * time.Second
	defaultHoldMax     = 5 * time.Minute
)

func (c Config) filled() Config {
	fill(&c.Poll, defaultPoll)
	fill(&c.Count, defaultCount)
	fill(&c.Still, defaultStill)
	fill(&c.AnswerLimit, defaultAnswerLimit)
	fill(&c.Settle, defaultSettle)
	fill(&c.Hold, defaultHold)
	fill(&c.HoldMax, defaultHoldMax)
	c.Priority &= 0xF
	return c
}

func fill[T int | time.Duration](value *T, usual T) {
	if *value <= 0 {
		*value = usual
	}
}

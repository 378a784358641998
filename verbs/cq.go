package verbs

import (
	"context"
)

// CQAttr is what a CQ is to be like.
type CQAttr struct {
	// Depth is how many completions it has to hold; one more than that, and the
	// CQ and its QPs go into error (see EventCQ). Those that it holds can still be
	// polled. Its QPs may get there a moment after the event.
	Depth int
	// Vector is the device's interrupt to use.
	Vector int
}

// CQ is a queue of completions.
type CQ interface {
	// Poll takes completions, as many as there are and fit, and does not wait.
	// It allocates nothing. After an overrun the error wraps ErrCQOverrun.
	Poll(into []WC) (n int, err error)
	// Arm asks for an event at the next completion, or the next solicited one
	// or error. What came before the call makes none: poll once more after it.
	Arm(solicitedOnly bool) error
	// Wait waits for an event that was asked for by Arm.
	Wait(ctx context.Context) error
	Depth() int
	Close() error
}

// Await polls a CQ, and waits until there is something. It is for one goroutine
// at a time, as Poll is.
func Await(ctx context.Context, cq CQ, into []WC) (n int, err error) {
	for {
		if n, err = cq.Poll(into); n > 0 || err != nil {
			return n, err
		}
		if err := cq.Arm(false); err != nil {
			return 0, err
		}
		// What came before Arm makes no event.
		if n, err = cq.Poll(into); n > 0 || err != nil {
			return n, err
		}
		if err := cq.Wait(ctx); err != nil {
			return 0, err
		}
	}
}

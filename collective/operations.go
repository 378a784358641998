package collective

import (
	"context"
	"fmt"
	"unsafe"

	"heddle/verbs"
)

// Bcast sends the bytes of the root's buf to that of all others, which are as long.
// At the root it returns when buf may be changed: others may not have it yet. Where
// lengths differ, those whose buf is not as long as the root's get ErrMismatch.
func (g *Group) Bcast(ctx context.Context, root int, buf []byte) error {
	if err := g.begin("bcast"); err != nil {
		return err
	}
	defer g.turn.give()
	return g.bcast(ctx, root, buf)
}

// bcast is Bcast within an operation.
func (g *Group) bcast(ctx context.Context, root int, buf []byte) error {
	var err error
	switch {
	case root < 0 || root >= g.size:
		err = fmt.Errorf("of %d ranks: %w", g.size, ErrInvalid)
	case g.size == 1:
	case g.way == ByTree:
		err = g.tree.bcast(ctx, root, buf)
	case root == g.rank && g.source != nil:
		err = g.source.send(ctx, buf)
	case root != g.rank && g.streams[root] != nil:
		err = g.streams[root].receive(ctx, buf)
	default:
		err = fmt.Errorf("it is none of the roots: %w", ErrInvalid)
	}
	return g.wrong("bcast", root, err)
}

// wrong adds to an error where it came up.
func (g *Group) wrong(op string, peer int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Rank: g.rank, Peer: peer, Err: err}
}

// Barrier returns when all ranks have called it.
func (g *Group) Barrier(ctx context.Context) error {
	if err := g.begin("barrier"); err != nil {
		return err
	}
	defer g.turn.give()
	if g.tree == nil {
		return g.wrong("barrier", -1, errBcastOnly)
	}
	return g.wrong("barrier", -1, g.tree.barrier(ctx))
}

// AllGather puts the bytes of each rank, as many from each, into all of each rank,
// in the order of ranks.
func (g *Group) AllGather(ctx context.Context, mine, all []byte) error {
	if err := g.begin("allgather"); err != nil {
		return err
	}
	defer g.turn.give()
	n := len(mine)
	if len(all) != n*g.size {
		return &Error{Op: "allgather", Rank: g.rank, Peer: -1, Err: fmt.Errorf("%d bytes for %d of each of %d ranks: %w", len(all), n, g.size, ErrInvalid)}
	}
	part := func(r int) []byte { return all[r*n : (r+1)*n] }
	copy(part(g.rank), mine)
	early := g.fits(n)
	if early {
		if err := g.bcast(ctx, g.rank, mine); err != nil {
			return err
		}
	}
	for i := range g.size {
		if r := (g.rank + i) % g.size; early && r != g.rank {
			if err := g.bcast(ctx, r, part(r)); err != nil {
				return err
			}
		}
		if !early {
			if err := g.bcast(ctx, i, part(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits tells whether a message may be sent before others are received: where it does
// not, all would wait for room at once.
func (g *Group) fits(n int) bool {
	if g.way == ByTree || g.size == 1 {
		return false
	}
	chunks := max(1, (n+g.cfg.Chunk-headerSize-1)/(g.cfg.Chunk-headerSize))
	return chunks <= g.cfg.Slots/2
}

var errBcastOnly = fmt.Errorf("the group was made without channels (Config.BcastOnly): %w", verbs.ErrNotSupported)

// Number is what can be reduced. Ranks have the same byte order.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint | ~float32 | ~float64
}

// Sum adds.
func Sum[T Number](a, b T) T { return a + b }

// Prod multiplies.
func Prod[T Number](a, b T) T { return a * b }

// Min is the smaller one.
func Min[T Number](a, b T) T { return min(a, b) }

// Max is the larger one.
func Max[T Number](a, b T) T { return max(a, b) }

// Reduce combines the values of all ranks, element by element, into those of the
// root; what is left in the values of others is not defined. Op is associative and
// commutative; in which order it is applied depends on the ranks alone, so that the
// same values give the same result.
func Reduce[T Number](ctx context.Context, g *Group, root int, values []T, op func(a, b T) T) error {
	if err := g.begin("reduce"); err != nil {
		return err
	}
	defer g.turn.give()
	if root < 0 || root >= g.size {
		return &Error{Op: "reduce", Rank: g.rank, Peer: root, Err: ErrInvalid}
	}
	if g.tree == nil {
		return g.wrong("reduce", -1, errBcastOnly)
	}
	b := raw(values)
	list := children(g.rank, root, g.size)
	for i := len(list) - 1; i >= 0; i-- { // the smallest subtree is done first
		err := g.tree.receive(ctx, list[i], len(b), func(offset int, piece []byte) { combine(values, offset, piece, op) })
		if err != nil {
			return g.wrong("reduce", list[i], err)
		}
	}
	if g.rank == root {
		return nil
	}
	p := parent(g.rank, root, g.size)
	return g.wrong("reduce", p, g.tree.send(ctx, p, b))
}

// AllReduce is Reduce whose result all ranks get, the same bytes everywhere.
func AllReduce[T Number](ctx context.Context, g *Group, values []T, op func(a, b T) T) error {
	root := 0
	if g.way != ByTree {
		root = g.cfg.Roots[0]
	}
	if err := Reduce(ctx, g, root, values, op); err != nil {
		return err
	}
	return g.Bcast(ctx, root, raw(values))
}

// combine applies op to the values of a piece, whose length is a multiple of theirs:
// pieces are cut at multiples of 8 bytes.
func combine[T Number](values []T, offset int, piece []byte, op func(a, b T) T) {
	size := int(unsafe.Sizeof(*new(T)))
	into := values[offset/size:]
	for i := range len(piece) / size {
		var v T
		copy(raw(unsafe.Slice(&v, 1)), piece[i*size:])
		into[i] = op(into[i], v)
	}
}

// raw is the memory of values.
func raw[T Number](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

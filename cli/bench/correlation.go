package bench

import (
	"cmp"
	"math"
	"slices"
)

// correlation is Pearson's coefficient of pairs: 1 where y grows with x on a
// line, 0 where x says nothing of it, or either is always the same.
func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// rankCorrelation is Spearman's: that of the ranks, 1 where y is never less for a
// larger x.
func rankCorrelation(x, y []float64) float64 { return correlation(ranks(x), ranks(y)) }

// ranks are the places of values in their order, from 1; those that are the same
// share the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	list := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			list[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return list
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

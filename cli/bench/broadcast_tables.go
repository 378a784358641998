package bench

import (
	"fmt"
	"strconv"
)

// BroadcastGrids are a table of bytes and one of times for each size.
func BroadcastGrids(list []Broadcast) (grids []Grid) {
	var sizes []int
	rows := map[int]map[int][]Broadcast{} // by size and ranks: the ways
	for _, x := range list {
		if rows[x.Size] == nil {
			rows[x.Size] = map[int][]Broadcast{}
			sizes = append(sizes, x.Size)
		}
		rows[x.Size][x.Ranks] = append(rows[x.Size][x.Ranks], x)
	}
	for _, size := range sizes {
		load := Grid{
			Title: fmt.Sprintf("bytes on links for a broadcast of %d bytes, %s", size, list[0].Fabric),
			Head:  []string{"ranks", "links of the tree", "copies on each"},
			Note: "In lengths of the message, with all headers and answers: on all links together, and on the busiest one in one direction. " +
				"Ratios are of WRITEs to each to multicast.",
		}
		times := Grid{
			Title: fmt.Sprintf("time of a broadcast of %d bytes, %s", size, list[0].Fabric),
			Head:  []string{"ranks"}, Note: fmt.Sprintf("Median of %d, until the last rank has all.", list[0].Runs),
		}
		for i, x := range list {
			if x.Size != size || x.Way != list[0].Way {
				continue
			}
			ways := rows[size][x.Ranks]
			if i == 0 || len(load.Rows) == 0 {
				load.Head = append(load.Head, broadcastHead(ways, "all links: ", "busiest: ")...)
				times.Head = append(times.Head, timesHead(ways)...)
			}
			load.Rows = append(load.Rows, loadRow(ways))
			times.Rows = append(times.Rows, timesRow(ways))
		}
		grids = append(grids, load, times)
	}
	return grids
}

func broadcastHead(ways []Broadcast, kinds ...string) (head []string) {
	for _, kind := range kinds {
		for _, w := range ways {
			head = append(head, kind+w.Way)
		}
		head = append(head, "ratio")
	}
	return head
}

func loadRow(ways []Broadcast) []string {
	tree, last := ways[0], ways[len(ways)-1]
	copies := fmt.Sprintf("%.2f", tree.Most)
	if tree.Least != tree.Most {
		copies = fmt.Sprintf("%.2f to %.2f", tree.Least, tree.Most)
	}
	row := []string{strconv.Itoa(tree.Ranks), strconv.Itoa(tree.Links), copies}
	for _, w := range ways {
		row = append(row, fmt.Sprintf("%.2f", w.Bytes/float64(w.Size)))
	}
	row = append(row, fmt.Sprintf("%.2f", last.BytesRatio))
	for _, w := range ways {
		row = append(row, fmt.Sprintf("%.2f", w.Busiest/float64(w.Size)))
	}
	return append(row, fmt.Sprintf("%.2f", last.BusiestRatio))
}

func timesHead(ways []Broadcast) (head []string) {
	for i, w := range ways {
		head = append(head, w.Way+", ms")
		if i > 0 {
			head = append(head, "ratio")
		}
	}
	return head
}

func timesRow(ways []Broadcast) []string {
	row := []string{strconv.Itoa(ways[0].Ranks)}
	for i, w := range ways {
		row = append(row, fmt.Sprintf("%.2f", w.MedianMs))
		if i > 0 {
			row = append(row, fmt.Sprintf("%.2f", w.TimeRatio))
		}
	}
	return row
}

// RepairsGrid is the table of what was lost and fetched.
func RepairsGrid(list []Repairs) Grid {
	g := Grid{
		Title: fmt.Sprintf("repairs where each link loses %g %% of packets, %d ranks, %s", 100*list[0].Loss, list[0].Ranks, list[0].Fabric),
		Head:  []string{"bytes", "due to readers", "missed", "of all", "fetched", "of missed", "from the neighbour", "packets lost", "median ms"},
		Note: fmt.Sprintf("Sums over all readers and %d broadcasts, in bytes of messages. What is missed came by no datagram. "+
			"All bytes of all messages were compared.", list[0].Runs),
	}
	for _, x := range list {
		g.Rows = append(g.Rows, []string{
			strconv.Itoa(x.Size), strconv.Itoa(x.Due), strconv.Itoa(x.Missed), share(x.Missed, x.Due), strconv.Itoa(x.Fetched), share(x.Fetched, x.Missed),
			share(x.Near, x.Fetched), strconv.FormatUint(x.Dropped, 10), fmt.Sprintf("%.2f", x.MedianMs),
		})
	}
	return g
}

func share(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}

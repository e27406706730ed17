# Trials of a storage server, measured by Brickyard: {{nature}}the table, its types, and a first plot.
#
#   Rscript trials.R [PICTURE]        draws into PICTURE; or, in R: source("trials.R")
#
# It needs R alone and reads no other file. It leaves the data frame `trials`, a row a trial. Sizes
# are in bytes, times in ns, rates per second (see `units_of`); NA is what a trial does not have. A
# figure is the device's only where `origin` is "device", or where nothing was read.

campaign <- {{campaign}}

# The unit of each column that has one.
units_of <- {{units}}

# What the words of a column can be, in the order of their levels; the table has their numbers.
levels_of <- {{levels}}

# A line a trial, a field a column; what a trial does not have is empty.
table_rows <- list()
{{table}}
trials <- local({
  columns <- {{columns}}
  fields <- unlist(strsplit(as.character(unlist(table_rows)), ",", fixed = TRUE))
  table <- as.data.frame(matrix(as.numeric(fields), ncol = length(columns), byrow = TRUE,
                                dimnames = list(NULL, columns)))
  for (name in {{switches}}) table[[name]] <- table[[name]] == 1
  for (name in names(levels_of)) {
    table[[name]] <- factor(table[[name]], seq_along(levels_of[[name]]), levels_of[[name]])
  }
  table
})

# The mean of replicates, with half of Student's 95 % interval: none for a single one. Where all
# repeats share an error, such as whole blocks in a window, the report's is wider. This is of each
# cell's own spread: where cells scatter alike the report pools theirs, and is mostly narrower.
mean_interval <- function(values) {
  n <- length(values)
  half <- if (n > 1) qt(0.975, n - 1) * sd(values) / sqrt(n) else NA
  c(mean = mean(values), half = half, n = n)
}

# The first chart of the report, where it has one: what each bar is of.
bars <- list(
  panel = {{bar_panels}},
  label = {{bar_labels}},
  column = {{bar_columns}},
  scale = {{bar_scales}},
  trials = {{bar_trials}}
)

# The core set: bars of means, lines for 95 % intervals, circles for single runs.
draw_bars <- function(trials) {
  panels <- unique(bars$panel)
  counts <- vapply(panels, function(panel) sum(bars$panel == panel), 0)
  layout(matrix(seq_along(panels)), heights = counts + 2)
  par(mar = c(2.5, 9, 2.5, 1), las = 1)
  for (panel in panels) {
    shown <- which(bars$panel == panel)
    runs <- lapply(shown, function(bar) {
      numbers <- as.integer(strsplit(bars$trials[bar], " ", fixed = TRUE)[[1]])
      values <- trials[[bars$column[bar]]][trials$trial %in% numbers] * bars$scale[bar]
      values[!is.na(values)]
    })
    found <- vapply(runs, mean_interval, c(mean = 0, half = 0, n = 0))
    means <- ifelse(is.nan(found["mean", ]), 0, found["mean", ])
    colours <- ifelse(grepl("write", bars$label[shown]), "#e08a52", "#5b9bc9")
    # From the top down.
    at <- barplot(rev(means), horiz = TRUE, names.arg = rev(bars$label[shown]),
                  col = rev(colours), border = NA, xlim = c(0, 1.08 * max(unlist(runs), means)))
    at <- rev(at)
    half <- found["half", ]
    spread <- which(!is.na(half) & half > 0)
    suppressWarnings(arrows(means[spread] - half[spread], at[spread], means[spread] + half[spread],
                            at[spread], angle = 90, code = 3, length = 0.04))
    for (bar in seq_along(runs)) {
      points(runs[[bar]], rep(at[bar], length(runs[[bar]])), pch = 21, bg = "white", cex = 0.8)
    }
    title(panel, adj = 0, cex.main = 1)
  }
  invisible(bars)
}

# The first chart of the report; or the plot of its first group: mean and 95 % interval over
# replicates, a line for each level of the other factors.
draw <- function(trials) {
  if (length(bars$panel) > 0) return(draw_bars(trials))
  group <- {{plot_group}}
  also <- {{plot_also}}
  axis_column <- {{plot_axis}}
  figure <- {{plot_figure}}
  lines_by <- {{plot_lines}}
  foreign <- {{plot_foreign}}
  meanings <- {{plot_meanings}}
  grey <- "#767676"
  if (is.na(figure)) {
    message("nothing to draw: no trial of this campaign has a figure")
    return(invisible())
  }
  done <- trials$outcome %in% "done" & !is.na(trials[[figure]])
  shown <- trials[done & (trials$group %in% group | trials$trial %in% also), ]
  place <- if (is.na(axis_column)) factor(shown$trial) else shown[[axis_column]]
  if (is.numeric(place) && anyNA(place)) place <- factor(place, exclude = NULL)
  if (is.logical(place)) place <- factor(place)
  ticks <- if (is.numeric(place)) sort(unique(place)) else seq_along(levels(droplevels(place)))
  labels <- if (is.numeric(place)) level_labels(ticks, axis_column) else levels(droplevels(place))
  x <- if (is.numeric(place)) place else as.integer(droplevels(place))
  # Levels over several octaves are put at equal distances by their logarithm.
  logarithmic <- is.numeric(place) && min(ticks) > 0 && max(ticks) >= 8 * min(ticks)
  told <- lapply(lines_by, function(name) {
    held <- shown[[name]]
    held <- if (is.numeric(held)) level_labels(held, name) else as.character(held)
    paste(gsub("_", " ", name), held)
  })
  line <- if (length(told) > 0) do.call(paste, c(told, sep = ", ")) else rep("", nrow(shown))
  lines <- unique(line[order(match(line, line))])
  many <- 8
  if (length(lines) > many) {
    message(length(lines) - many, " more lines are left out")
    lines <- lines[seq_len(many)]
  }
  y <- shown[[figure]] * {{plot_scale}}
  points <- do.call(rbind, lapply(seq_along(lines), function(number) {
    of_line <- line == lines[number]
    do.call(rbind, lapply(sort(unique(x[of_line])), function(at) {
      cell <- of_line & x == at
      origins <- as.character(unique(shown$origin[cell]))
      origin <- if (length(origins) == 1) origins else "differs"
      data.frame(line = number, x = at, t(mean_interval(y[cell])), origin = origin)
    }))
  }))
  colours <- hcl.colors(max(2, length(lines)), "Dark 3")
  high <- points$mean + ifelse(is.na(points$half), 0, points$half)
  low <- points$mean - ifelse(is.na(points$half), 0, points$half)
  entries <- c(
    if (length(lines) > 1) lines,
    meanings[foreign %in% points$origin]
  )
  par(mar = c(5 + length(entries), 6, 4, 1), las = 1, xpd = FALSE)
  plot(range(x), c(0, 1.05 * max(high)), type = "n", xaxt = "n", yaxs = "i", ylab = "",
       log = if (logarithmic) "x" else "",
       xlab = {{plot_axis_title}}, main = {{plot_title}})
  title(ylab = {{plot_figure_title}}, line = 4.5)
  mtext({{plot_subtitle}}, cex = 0.8, line = 0.3)
  axis(1, at = ticks, labels = labels)
  abline(h = pretty(c(0, max(high))), col = "#e5e5e5")
  for (number in seq_along(lines)) {
    of_line <- points[points$line == number, ]
    lines(of_line$x, of_line$mean, col = colours[number])
  }
  # What is not the device's is grey and open.
  is_foreign <- points$origin %in% foreign
  colour <- ifelse(is_foreign, grey, colours[points$line])
  spread <- which(high > low)
  # R warns of intervals shorter than a pixel.
  suppressWarnings(arrows(points$x[spread], low[spread], points$x[spread], high[spread],
                          angle = 90, code = 3, length = 0.04, col = colour[spread]))
  points(points$x, points$mean, pch = ifelse(is_foreign, 1, 19), col = colour, bg = "white")
  if (length(entries) > 0) {
    own <- length(lines) > 1
    count <- sum(foreign %in% points$origin)
    legend("bottom", entries, inset = c(0, -0.2 - 0.055 * length(entries)), xpd = TRUE, bty = "n",
           cex = 0.85, pch = c(if (own) rep(19, length(lines)), rep(1, count)),
           col = c(if (own) colours[seq_along(lines)], rep(grey, count)))
  }
  invisible(points)
}

# Sizes as people write them; all else as it is.
level_labels <- function(values, name) {
  if (!identical(units_of[[name]], "bytes")) return(format(values, trim = TRUE, big.mark = ""))
  vapply(values, function(bytes) {
    if (is.na(bytes)) return("NA")
    step <- 0
    while (step < 4 && bytes >= 1024 && bytes %% 1024 == 0) {
      bytes <- bytes / 1024
      step <- step + 1
    }
    paste(format(bytes, trim = TRUE), c("B", "KiB", "MiB", "GiB", "TiB")[step + 1])
  }, "")
}

if (interactive()) {
  draw(trials)
} else {
  cat(nrow(trials), "trials,", ncol(trials), "columns: the data frame `trials`\n")
  picture <- commandArgs(trailingOnly = TRUE)
  picture <- if (length(picture) > 0) picture[1] else {{picture}}
  png(picture, width = 1600, height = 1100, res = 160)
  draw(trials)
  invisible(dev.off())
  if (file.exists(picture)) cat("picture:", picture, "\n")
}
